"""Contradictions in what is said of runs, counted by class.

    python -m tests.contradictions [RUN ...] [--every N] [--shallow] [--screen] [--list] [--age S ...]

Without RUN: the labelled runs (RLTUI_TEST_RUNS) and the written ones. Each run is judged twice: a minute after it was
written, when it may be running, and a day after. Exit code 1 if there is any.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.conftest import labelled_runs
from tests.contradictions.engine import RULES, Contradiction, contradictions
from tests.contradictions.labelled import all_labelled
from tests.contradictions.surfaces import Json, runs, said
from tests.contradictions.writers import write_all, write_odd
from tests.moments import AGES, judged_after, judged_at


@dataclass(frozen=True)
class Asked:
    """A run at an age, in seconds. `rows`: of `runs`, asked of the folder at that moment."""

    path: Path
    age: float
    moment: float
    rows: dict[str, Json]


def found(asked: Asked, deep: bool, screen: bool) -> tuple[bool, list[Contradiction]]:
    """Whether the run was read, and what contradicts itself."""
    with judged_at(asked.moment):
        told = said(asked.path, asked.rows, deep=deep)
        if told is None:
            return False, []
        if screen:
            from tests.contradictions.screens import look_now

            look_now(told, asked.path)
    return True, [replace(one, run=f"{one.run} at {asked.age:g} s") for one in contradictions(told)]


def asked(paths: list[Path], ages: Iterable[float]) -> Iterator[Asked]:
    """Each run at each age, counted from when the newest file of its folder was written."""
    for folder in sorted({path.parent for path in paths}):
        for age in ages:
            with judged_after(folder, age):
                moment, rows = time.time(), runs(folder)
            yield from (Asked(path, age, moment, rows) for path in paths if path.parent == folder)


def inputs(names: list[str], every: int, folder: Path) -> Iterator[Path]:
    if names:
        yield from map(Path, names)
        return
    root = labelled_runs()
    if root is not None:
        yield from all_labelled(root)[::every]
    yield from [*write_all(folder), *write_odd(folder)][::every]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.contradictions")
    parser.add_argument("run", nargs="*")
    parser.add_argument("--every", type=int, default=1, help="one run of so many")
    parser.add_argument("--shallow", action="store_true", help="only report and runs")
    parser.add_argument("--screen", action="store_true", help="also the screens")
    parser.add_argument("--list", action="store_true", help="every contradiction, not only their number")
    parser.add_argument("--age", type=float, action="append", metavar="S", help="seconds since a run was written")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_STATE_HOME"] = os.environ["XDG_CONFIG_HOME"] = f"{name}/state"
        paths = list(inputs(args.run, args.every, Path(name) / "runs"))
        every = list(asked(paths, args.age or AGES))
        one = partial(found, deep=not args.shallow, screen=args.screen)
        done: list[tuple[bool, list[Contradiction]]] = []
        with ProcessPoolExecutor(args.jobs) as pool:
            for told in pool.map(one, every):
                done.append(told)
                print(f"{len(done)} of {len(every)}", *told[1], sep="\n  ", file=sys.stderr, flush=True)
    everything = [c for _, cs in done for c in cs]
    counts = Counter(c.rule for c in everything)
    where = {rule: len({c.run for c in everything if c.rule == rule}) for rule in counts}
    print(f"{sum(read for read, _ in done)} of {len(every)} readings of {len(paths)} runs")
    print("| class | contradictions | readings |\n|---|--:|--:|")
    for rule in sorted(RULES, key=lambda r: -counts[r]):
        print(f"| {rule} | {counts[rule]} | {where.get(rule, 0)} |")
    print(f"| all | {len(everything)} | {len({c.run for c in everything})} |")
    if args.list:
        print("\n".join(sorted(map(str, everything))))
    return 1 if everything else 0


if __name__ == "__main__":
    sys.exit(main())
