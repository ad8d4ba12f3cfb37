"""python -m tests.evaluation drill [--seeds N] [--from SEED] [--fault NAME] [--stands N] [-v] [--write | --lock]

Each run has a seed of its own, counting up from SEED: `--fault NAME --from SEED --seeds 1` is one of them again.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from rltui.rules.error_rates import FILE, RuleRates
from tests.evaluation.drill import lock
from tests.evaluation.drill.faults import FAULTS
from tests.evaluation.drill.measure import Course, course
from tests.evaluation.drill.rates import measured, of_verdict, write

FAULT_HEAD = "planted | runs | found | after rows | false alarms | false resolves | flips | false stops | false clear"
RULE_HEAD = "rule | found | it or another | after rows | could not run | false alarms | false resolves"


def _one(job: tuple[str, int, int]) -> Course:
    fault, seed, stands = job
    return course(fault, seed, stands=stands)


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation drill", description=__doc__)
    parser.add_argument("--seeds", type=int, default=6, help="runs of each fault")
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--stands", type=int, default=0, help="times its length that a run goes on as it ended")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-v", action="store_true", help="print what was said in each run with a mistake")
    parser.add_argument("--write", action="store_true", help="ship the rates of all rules")
    parser.add_argument("--lock", action="store_true", help="measure the small sample of the tests anew")
    args = parser.parse_args(words)
    if (args.fault or args.stands) and (args.write or args.lock):
        parser.error("--write and --lock are of all faults, of runs that end")
    if args.lock:
        write(lock.now(), lock.FILE)
        return
    names = args.fault or list(FAULTS)
    jobs = [(name, args.start + i, args.stands) for i, name in enumerate(names * args.seeds)]
    with ProcessPoolExecutor(args.jobs) as pool:
        courses = list(pool.map(_one, jobs, chunksize=4))
    rates = measured(courses)
    table(
        FAULT_HEAD,
        [*([n, *of_fault([c for c in courses if c.fault == n])] for n in names), ["all", *of_fault(courses)]],
    )
    print()
    table(RULE_HEAD, [[name, *of_rule(found)] for name, found in rates.rules.items()])
    if args.v:
        tell_mistakes(courses)
    if args.write:
        write(rates, FILE)


def table(head: str, rows: Sequence[Sequence[str]]) -> None:
    print(f"| {head} |")
    print("|---" * (head.count("|") + 1) + "|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def of_fault(courses: Sequence[Course]) -> list[str]:
    v = of_verdict(courses)
    return [
        str(len(courses)),
        f"{v.named}/{v.planted}" if v.planted else "-",
        _rows(v.median_rows),
        f"{v.false_alarms} in {v.healthy_steps:,} steps" if v.healthy_steps else "-",
        *map(str, (v.false_resolves, v.flips, v.false_stops, v.false_clears)),
    ]


def of_rule(r: RuleRates) -> list[str]:
    planted = [f"{r.found}/{r.planted}", f"{r.named}/{r.planted}"] if r.planted else ["-", "-"]
    alarms = f"{r.false_alarms} in {r.healthy_steps:,} steps"
    return [*planted, _rows(r.median_rows), str(r.unable), alarms, str(r.false_resolves)]


def _rows(median: float | None) -> str:
    return "-" if median is None else f"{median:g}"


def tell_mistakes(courses: Sequence[Course]) -> None:
    for c in courses:
        if c.false_alarms() or c.false_stop() or c.false_clear() or c.false_resolves():
            print(f"{c.fault} #{c.world.seed}, truth {c.truth.begins} to {c.truth.ends}: {c.world}")
            before = None
            for g in c.glances:
                if (g.decision, g.loud) != before:
                    print(f"    {g.step}: {g.decision} {' '.join(sorted(g.loud))}")
                before = g.decision, g.loud
