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
from itertools import groupby
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
    folders = [str(path) for path in paths if path.is_dir()]  # a file is no folder to list
    whole = runs(Path(folders[0]), *folders[1:], "--full") if deep and folders else {}
    picked: dict[Path, str] = {}
    if screen and len(paths) > 1:  # of one run there is no list
        from tests.contradictions.screens import look_picker

        picked = asyncio.run(look_picker(paths))
    return Listed(ends, whole, dict(zip(ends, table(folder), strict=True)), picked)


def asked(told: tuple[list[Path], float], deep: bool, screen: bool) -> list[Asked]:
    """Each run of a folder at an age, counted from when the newest file of the folder was written."""
    paths, age = told
    folder = paths[0].parent
    with judged_after(folder, age):
        moment, found = time.time(), listed(folder, paths, deep, screen)
    return [Asked(path, age, moment, found) for path in paths]


def by_folder(paths: Iterable[Path]) -> list[list[Path]]:
    return [list(of) for _, of in groupby(sorted(paths), key=lambda path: path.parent)]


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
        folders = [(of, age) for of in by_folder(paths) for age in args.age or AGES]
        lists = partial(asked, deep=not args.shallow, screen=args.screen)
        one = partial(found, deep=not args.shallow, screen=args.screen)
        done: list[tuple[bool, list[Contradiction]]] = []
        with ProcessPoolExecutor(args.jobs) as pool:  # reads nothing itself: a fork lacks the threads of who has read
            every = [each for of in pool.map(lists, folders) for each in of]
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
