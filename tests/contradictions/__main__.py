"""Contradictions in what is said of runs, counted by class.

    python -m tests.contradictions [RUN ...] [--every N] [--shallow] [--screen] [--list] [--age S ...]

Without RUN: the labelled runs (RLTUI_TEST_RUNS) and the written ones. Each run is judged twice: a minute after it was
written, when it may be running, and a day after. Exit code 1 if there is any.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.conftest import labelled_runs
from tests.contradictions.engine import RULES, Contradiction, contradictions
from tests.contradictions.labelled import all_labelled
from tests.contradictions.surfaces import Json, runs, said, table
from tests.contradictions.writers import write_all, write_odd
from tests.moments import AGES, judged_after, judged_at


@dataclass(frozen=True)
class Listed:
    """`ends` and `whole`: the rows of `runs` and `runs --full`; `lines`: those of its table; `picked`: those of the
    picker. All by the path of the run."""

    ends: dict[str, Json]
    whole: dict[str, Json]
    lines: dict[str, str]
    picked: dict[Path, str]


@dataclass(frozen=True)
class Asked:
    """A run at an age, in seconds. `listed`: what was told of its whole folder at that moment."""

    path: Path
    age: float
    moment: float
    listed: Listed


def found(asked: Asked, deep: bool, screen: bool) -> tuple[bool, list[Contradiction]]:
    """Whether the run was read, and what contradicts itself."""
    with judged_at(asked.moment):
        listed, name = asked.listed, str(asked.path)
        told = said(asked.path, listed.ends, deep=deep)
        if told is None:
            return False, []
        told.whole, told.listed = listed.whole.get(name), listed.lines.get(name)
        told.picked = listed.picked.get(asked.path)
        if screen:
            from tests.contradictions.screens import look_now

            look_now(told, asked.path)
    return True, [replace(one, run=f"{one.run} at {asked.age:g} s") for one in contradictions(told)]


def listed(folder: Path, paths: list[Path], deep: bool, screen: bool) -> Listed:
    """What is told of runs of a folder: its table has the lines in the order of the JSON."""
    ends = runs(folder)
    whole = runs(paths[0], *map(str, paths[1:]), "--full") if deep else {}
    picked: dict[Path, str] = {}
    if screen:
        from tests.contradictions.screens import look_picker

        picked = asyncio.run(look_picker(paths))
    return Listed(ends, whole, dict(zip(ends, table(folder), strict=True)), picked)


def asked(paths: list[Path], ages: Iterable[float], deep: bool, screen: bool) -> Iterator[Asked]:
    """Each run at each age, counted from when the newest file of its folder was written."""
    for folder in sorted({path.parent for path in paths}):
        of = [path for path in paths if path.parent == folder]
        for age in ages:
            with judged_after(folder, age):
                moment, told = time.time(), listed(folder, of, deep, screen)
            yield from (Asked(path, age, moment, told) for path in of)


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
        every = list(asked(paths, args.age or AGES, not args.shallow, args.screen))
        one = partial(found, deep=not args.shallow, screen=args.screen)
        done: list[tuple[bool, list[Contradiction]]] = []
        with ProcessPoolExecutor(args.jobs, get_context("spawn")) as pool:  # a fork would lack the threads of the lists
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
