"""Draws mutants, runs the tests on each, tells who killed them."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.conftest import REPO
from tests.mutants.draw import LOCKED, drawn, population, tests_of, words_of
from tests.mutants.mutant import Mutant
from tests.mutants.worker import Answer, Question

COPIED = ("rltui", "tests", "themes", "sample_runs", ".github", "pyproject.toml", "README.md")
BATCH = 6
"""Files of tests that are tried together without a mutant."""
LIMIT_S = 300.0
SLOW = 4.0
"""A mutant may take so many times as long as its tests take without it, and half a minute, before it counts as
hanging."""
ENDS = ("behaviour", "locked", "survived")


class Copy:
    """A copy of the repository, and the process that runs tests in it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        ignore = shutil.ignore_patterns("__pycache__", ".*cache*", ".hypothesis")
        for name in COPIED:
            if (REPO / name).is_dir():
                shutil.copytree(REPO / name, folder / name, ignore=ignore, symlinks=True)
            else:
                shutil.copy2(REPO / name, folder / name)
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environ |= {"PYTHONPATH": str(folder), "RLTUI_TEST_RUNS": str(folder / "none"), "CI": "1"}
        environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.worker"],
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, question: Question, write_bytecode: bool = False) -> Answer:
        """Raises RuntimeError if the process has ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asdict(question) | {"write_bytecode": write_bytecode}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of the tests in {self.root} has ended")
        return Answer(**json.loads(line))

    @contextlib.contextmanager
    def changed(self, one: Mutant) -> Iterator[None]:
        file = self.root / one.path
        text, stat = file.read_text(encoding="utf-8"), file.stat()
        try:
            file.write_text(one.applied(text), encoding="utf-8")
            yield
        finally:
            file.write_text(text, encoding="utf-8")
            os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class Results:
    """A file of JSON lines: how the tests do without a mutant, then each mutant. What it holds of the same sources is
    not done again."""

    def __init__(self, path: Path, fresh: bool) -> None:
        self.path = path
        digest = hashlib.sha256()
        for file in sorted(file for part in ("rltui", "tests") for file in (REPO / part).rglob("*") if file.is_file()):
            if "__pycache__" not in file.parts:
                digest.update(file.read_bytes())
        self.head = {"sources": digest.hexdigest()}
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() and not fresh else []
        self.known: list[dict[str, Any]] = lines[1:] if lines[:1] == [self.head] else []
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in [self.head, *self.known]))

    def add(self, line: dict[str, Any]) -> None:
        with self.path.open("a") as out:
            out.write(json.dumps(line) + "\n")

    def of(self, one: Mutant) -> dict[str, Any] | None:
        return next((line for line in self.known if line.get("mutant") == str(one) + f" @{one.offset}"), None)


def files_of(tests: list[str]) -> list[str]:
    """The files of these folders and files, the locked ones left out, in the order of the map."""
    found: dict[str, None] = {}
    for test in tests:
        path = REPO / test
        for file in sorted(path.rglob("test_*.py")) if path.is_dir() else [path]:
            found.setdefault(file.relative_to(REPO).as_posix())
    return [name for name in found if name not in LOCKED]


def without_a_mutant(chosen: list[Mutant], copies: list[Copy], results: Results) -> tuple[list[str], dict[str, float]]:
    """(the tests that fail without a mutant, seconds that each file takes)."""
    known = next((line for line in results.known if "seconds" in line), {"failing": [], "seconds": {}})
    failing: list[str] = list(known["failing"])
    seconds: dict[str, float] = dict(known["seconds"])
    asked = {test for one in chosen for test in files_of(tests_of(one.path))} | set(LOCKED)
    files = [file for file in sorted(asked) if file not in seconds]
    free: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def try_out(batch: list[str]) -> Answer:
        copy = free.get()
        try:
            return copy.ask(Question(batch, first=False, limit_s=LIMIT_S), write_bytecode=True)
        finally:
            free.put(copy)

    batches = [files[n : n + BATCH] for n in range(0, len(files), BATCH)]
    with ThreadPoolExecutor(len(copies)) as pool:
        for batch, answer in zip(batches, pool.map(try_out, batches), strict=True):
            seconds |= dict.fromkeys(batch, 0.0)
            if answer.error:
                print(f"left out, {answer.error} without a mutant: {', '.join(batch)}", flush=True)
                failing += batch
            for test, took in answer.took_s.items():
                seconds[test.split("::")[0]] = seconds.get(test.split("::")[0], 0.0) + took
            failing += answer.failed
    if files:
        results.add({"failing": failing, "seconds": seconds})
    return failing, seconds


def judge(one: Mutant, copy: Copy, without: list[str], seconds: dict[str, float]) -> tuple[str, str]:
    """("behaviour" | "locked" | "survived", the test that fails)."""
    words = words_of(one, copy.root)
    with copy.changed(one):
        for end, tests in (("behaviour", files_of(tests_of(one.path))), ("locked", LOCKED)):
            asked = [test for test in tests if test not in without]
            limit = 30 + SLOW * sum(seconds.get(test, 0.0) for test in asked)
            answer = copy.ask(Question(asked, words, without, limit_s=limit))
            if answer.failed or answer.error:
                return end, (answer.failed or [answer.error])[0]
    return "survived", ""


def table(counts: Counter[tuple[str, str]]) -> str:
    lines = ["| kind | killed by behaviour | by a locked fact | survived |", "|---|--:|--:|--:|"]
    for kind in sorted({kind for kind, _ in counts}):
        lines.append(f"| {kind} | {' | '.join(str(counts[kind, end]) for end in ENDS)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=0.95, help="share of them that has to be killed")
    parser.add_argument("--only", default="", metavar="TEXT", help="only mutants whose kind, path or place has it")
    parser.add_argument("--list", action="store_true", help="name the mutants drawn, and run nothing")
    parser.add_argument("--results", type=Path, metavar="FILE", help="default: .mutants/seed-N.jsonl")
    parser.add_argument("--fresh", action="store_true", help="do again what the file of results holds")
    args = parser.parse_args()
    every = [one for one in population(REPO) if args.only in f"{one.kind} {one}"]
    chosen = drawn(every, args.n, args.seed)
    print(f"{len(chosen)} of {len(every)} mutants, seed {args.seed}", flush=True)
    if args.list:
        print("\n".join(f"{one.kind:10} {one}" for one in chosen))
        return 0
    start = time.monotonic()
    results = Results(args.results or REPO / ".mutants" / f"seed-{args.seed}.jsonl", args.fresh)
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        copies = [Copy(Path(name) / str(number)) for number in range(args.jobs)]
        without, seconds = without_a_mutant(chosen, copies, results)
        for test in without:
            print(f"left out, fails without a mutant: {test}", flush=True)
        print(f"{len(seconds)} files of tests, {time.monotonic() - start:.0f} s without a mutant", flush=True)
        free: SimpleQueue[Copy] = SimpleQueue()
        for copy in copies:
            free.put(copy)

        def done(one: Mutant) -> None:
            known = results.of(one)
            if known is None:
                copy, begun = free.get(), time.monotonic()
                try:
                    end, killer = judge(one, copy, without, seconds)
                finally:
                    free.put(copy)
                known = {"mutant": f"{one} @{one.offset}", "kind": one.kind, "end": end, "killer": killer}
                results.add(known | {"took_s": round(time.monotonic() - begun, 1)})
            counts[one.kind, known["end"]] += 1
            print(f"{known['end']:9} {one.kind:10} {one}   {known['killer']}", flush=True)

        with ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(done, chosen))
        for copy in copies:
            copy.close()
    totals = [sum(n for (_, how), n in counts.items() if how == end) for end in ENDS]
    print(f"\n{table(counts)}\n| all | {' | '.join(map(str, totals))} |")
    killed = (totals[0] + totals[1]) / max(1, sum(totals))
    print(f"killed: {killed:.1%}, by behaviour {totals[0] / max(1, sum(totals)):.1%}; {time.monotonic() - start:.0f} s")
    return 0 if killed >= args.least else 1


if __name__ == "__main__":
    sys.exit(main())
