"""Contradictions in what is said of runs, counted by class.

    python -m tests.contradictions [RUN ...] [--every N] [--shallow] [--screen] [--list]

Without RUN: the labelled runs (RLTUI_TEST_RUNS) and the written ones. Exit code 1 if there is any.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.conftest import labelled_runs
from tests.contradictions.engine import RULES, Contradiction, contradictions
from tests.contradictions.labelled import all_labelled
from tests.contradictions.surfaces import Json, runs, said
from tests.contradictions.written import write_all


def found(path: Path, rows: dict[str, Json], deep: bool, screen: bool) -> tuple[bool, list[Contradiction]]:
    """Whether the run was read, and what contradicts itself."""
    told = said(path, rows, deep=deep)
    if told is None:
        return False, []
    if screen:
        from tests.contradictions.screens import look_now

        look_now(told, path)
    return True, contradictions(told)


def inputs(names: list[str], every: int, folder: Path) -> Iterator[Path]:
    if names:
        yield from map(Path, names)
        return
    root = labelled_runs()
    if root is not None:
        yield from all_labelled(root)[::every]
    yield from list(write_all(folder))[::every]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.contradictions")
    parser.add_argument("run", nargs="*")
    parser.add_argument("--every", type=int, default=1, help="one run of so many")
    parser.add_argument("--shallow", action="store_true", help="only report and runs")
    parser.add_argument("--screen", action="store_true", help="also the screens")
    parser.add_argument("--list", action="store_true", help="every contradiction, not only their number")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_STATE_HOME"] = os.environ["XDG_CONFIG_HOME"] = f"{name}/state"
        paths = list(inputs(args.run, args.every, Path(name) / "runs"))
        rows: dict[str, Json] = {}
        for parent in sorted({path.parent for path in paths}):
            rows |= runs(parent)
        one = partial(found, rows=rows, deep=not args.shallow, screen=args.screen)
        with ProcessPoolExecutor(args.jobs) as pool:
            done = list(pool.map(one, paths))
    everything = [c for _, cs in done for c in cs]
    counts = Counter(c.rule for c in everything)
    where = {rule: len({c.run for c in everything if c.rule == rule}) for rule in counts}
    print(f"{sum(read for read, _ in done)} of {len(paths)} runs read")
    print("| class | contradictions | runs |\n|---|--:|--:|")
    for rule in sorted(RULES, key=lambda r: -counts[r]):
        print(f"| {rule} | {counts[rule]} | {where.get(rule, 0)} |")
    print(f"| all | {len(everything)} | {len({c.run for c in everything})} |")
    if args.list:
        print("\n".join(sorted(map(str, everything))))
    return 1 if everything else 0


if __name__ == "__main__":
    sys.exit(main())
