"""python -m tests.evaluation drill [--seeds N] [--from SEED] [--fault NAME] [--jobs J] [-v]"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from statistics import median

from tests.evaluation.drill.faults import FAULTS
from tests.evaluation.drill.measure import Course, course


def _one(job: tuple[str, int]) -> Course:
    return course(*job)


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation drill", description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--fault", action="append")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args(words)
    names = args.fault or list(FAULTS)
    seeds = range(args.start, args.start + args.seeds)
    jobs = [(name, seed) for name in names for seed in seeds]
    with ProcessPoolExecutor(args.jobs) as pool:
        courses = list(pool.map(_one, jobs, chunksize=4))
    print("| planted | runs | found | after rows | false alarms | false resolves | flips | false stops | false clear |")
    print("|---" * 9 + "|")
    for name in names:
        print(line(name, [c for c in courses if c.fault == name]))
    print(line("all", courses))
    if args.v:
        for c in courses:
            if c.false_alarms() or c.false_stop() or c.false_clear() or c.false_resolves():
                print(f"{c.fault} #{c.world.seed}, truth {c.truth.begins} to {c.truth.ends}: {c.world}")
                before = None
                for g in c.glances:
                    if (g.decision, g.loud) != before:
                        print(f"    {g.step}: {g.decision} {' '.join(sorted(g.loud))}")
                    before = g.decision, g.loud


def line(name: str, courses: list[Course]) -> str:
    wanted = [c for c in courses if c.truth.rules and not c.truth.clear]
    found = [(f, c) for c in wanted if (f := c.found()) is not None]
    rows = f"{median(f / c.world.every for f, c in found):.0f}" if found else "-"
    alarms, steps = sum(len(c.false_alarms()) for c in courses), sum(c.well_steps() for c in courses)
    rate = f"{alarms} in {steps:,} steps" if steps else "-"
    cells = [
        name,
        str(len(courses)),
        f"{len(found)}/{len(wanted)}" if wanted else "-",
        rows,
        rate,
        str(sum(c.false_resolves() for c in courses)),
        str(sum(c.flips() for c in courses)),
        str(sum(c.false_stop() for c in courses)),
        str(sum(c.false_clear() for c in courses)),
    ]
    return "| " + " | ".join(cells) + " |"
