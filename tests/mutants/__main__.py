"""Draws mutants, runs the tests on each, tells who killed them."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.conftest import REPO
from tests.mutants import code, data
from tests.mutants.mutant import Mutant

CODE = ("rltui/evidence", "rltui/rules", "rltui/diagnosis")
NOT_COPIED = (".git", ".*cache*", "__pycache__", "*.egg-info", "dist", "build")
NO_KNOWLEDGE = ("schema.json", "rltui/tui/", "rltui/settings/", "rltui/verify/")
"""Data that is a form or a taste."""
LIMIT_S = 900.0
"""A mutant may make a test wait for ever."""

Map = dict[str, list[str]]


def population(root: Path) -> Iterator[Mutant]:
    """Every mutant there is."""
    for path in sorted((root / "rltui").rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix in (".json", ".toml") and not any(part in name for part in NO_KNOWLEDGE):
            yield from data.mutants(name, path.read_text(encoding="utf-8"))
        elif path.suffix == ".py" and name.startswith(CODE):
            yield from code.mutants(name, path.read_text(encoding="utf-8"))


def drawn(every: list[Mutant], n: int, seed: int) -> list[Mutant]:
    """`n` of them: each kind comes round, and within it each file, so that the many aliases do not crowd out the few
    stages."""
    chance = random.Random(seed)
    kinds: dict[str, list[Mutant]] = {}
    for one in every:
        kinds.setdefault(one.kind, []).append(one)
    out: list[Mutant] = []
    while len(out) < min(n, len(every)):
        for kind in sorted(kinds):
            files = sorted({one.path for one in kinds[kind]})
            if files and len(out) < n:
                path = chance.choice(files)
                one = chance.choice([m for m in kinds[kind] if m.path == path])
                kinds[kind].remove(one)
                out.append(one)
    return out


def tests_of(path: str, known: Map) -> list[str]:
    """The tests that are asked about a file."""
    fits = [prefix for prefix in known if path.startswith(prefix)]
    return known[max(fits, key=len)] if fits else ["tests/unit"]


def copy(folder: Path) -> Path:
    """The repository without its history and what is built of it."""
    shutil.copytree(REPO, folder, ignore=shutil.ignore_patterns(*NOT_COPIED), dirs_exist_ok=True, symlinks=True)
    return folder


def fails(root: Path, tests: list[str], without: Sequence[str] = (), first: bool = True) -> list[str]:
    """The tests that fail, or the `first` of them; "time-out". `without`: tests that are left out."""
    there = [test for test in tests if (root / test.split("::")[0]).exists()]
    if not there:
        return []
    words = [
        sys.executable,
        "-m",
        "pytest",
        *(["-x"] if first else []),
        *(f"--deselect={name}" for name in without),
        "-q",
        "--no-header",
        "--tb=no",
        "-rfE",
        "-p",
        "no:cacheprovider",
    ]
    words += ["-p", "no:randomly"]
    environ = {**os.environ, "PYTHONPATH": str(root), "RLTUI_TEST_RUNS": str(root / "none"), "CI": "1"}
    environ["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        done = subprocess.run(
            [*words, *there], cwd=root, env=environ, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return ["time-out"]
    if done.returncode == 0:
        return []
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return [line.split(" ", 1)[1].split(" - ")[0] for line in lines] or [f"exit {done.returncode}"]


def judge(
    one: Mutant, roots: SimpleQueue[Path], known: Map, locked: list[str], without: Sequence[str]
) -> tuple[str, str]:
    """("behaviour" | "locked" | "survived", the test)."""
    root = roots.get()
    file = root / one.path
    text = file.read_text(encoding="utf-8")
    try:
        file.write_text(one.applied(text), encoding="utf-8")
        for test in tests_of(one.path, known):
            if killers := fails(root, _without(root, test, locked), without):
                return "behaviour", killers[0]
        killers = fails(root, locked)
        return ("locked", killers[0]) if killers else ("survived", "")
    finally:
        file.write_text(text, encoding="utf-8")
        roots.put(root)


def _without(root: Path, test: str, locked: list[str]) -> list[str]:
    """The files of a folder of tests, the locked ones left out."""
    if not any(name.startswith(f"{test}/") for name in locked):
        return [test]
    files = sorted(file.relative_to(root).as_posix() for file in (root / test).rglob("test_*.py"))
    return [file for file in files if file not in locked]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=0.95, help="share of them that has to be killed")
    parser.add_argument("--only", default="", metavar="PATH", help="only mutants of files below this path")
    parser.add_argument("--skip", type=int, default=0, help="of those drawn so many are left out")
    parser.add_argument("--list", action="store_true", help="name the mutants drawn, and run nothing")
    args = parser.parse_args()
    every = [one for one in population(REPO) if one.path.startswith(args.only)]
    chosen = drawn(every, args.n, args.seed)[args.skip :]
    print(f"{len(chosen)} of {len(every)} mutants, seed {args.seed}", flush=True)
    if args.list:
        print("\n".join(f"{one.kind:10} {one}" for one in chosen))
        return 0
    told = tomllib.loads(Path(__file__).with_name("tests_of.toml").read_text(encoding="utf-8"))
    roots: SimpleQueue[Path] = SimpleQueue()
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        for number in range(args.jobs):
            (Path(name) / str(number)).mkdir()
            roots.put(copy(Path(name) / str(number)))
        asked = sorted({test for one in chosen for test in tests_of(one.path, told["of"])})
        root = roots.get()
        without = fails(root, asked, first=False)
        roots.put(root)
        if without:
            print(f"left out, since they fail without a mutant: {', '.join(without)}", flush=True)
        with ThreadPoolExecutor(args.jobs) as pool:
            done = pool.map(lambda one: (one, *judge(one, roots, told["of"], told["locked"], without)), chosen)
            for one, end, killer in done:
                counts[one.kind, end] += 1
                print(f"{end:9} {one.kind:10} {one}   {killer}", flush=True)
    ends = ("behaviour", "locked", "survived")
    print("\n| kind | killed by behaviour | by a locked fact | survived |\n|---|--:|--:|--:|")
    for kind in sorted({kind for kind, _ in counts}):
        print(f"| {kind} | {' | '.join(str(counts[kind, end]) for end in ends)} |")
    totals = [sum(n for (_, how), n in counts.items() if how == end) for end in ends]
    print(f"| all | {' | '.join(map(str, totals))} |")
    killed = (totals[0] + totals[1]) / max(1, sum(totals))
    print(f"killed: {100 * killed:.0f} %")
    return 0 if killed >= args.least else 1


if __name__ == "__main__":
    sys.exit(main())
