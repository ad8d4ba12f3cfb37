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
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from tests.conftest import REPO
from tests.mutants.draw import LOCKED, drawn, population, rounds_of, words_of
from tests.mutants.mutant import Mutant
from tests.mutants.worker import Answer, Question

COPIED = ("rltui", "tests", "themes", "sample_runs", ".github", "pyproject.toml", "README.md")
LIMIT_S = 1500.0
"""Of the clock: a mutant that takes longer counts as hanging, for instance as it waits for what never comes."""
SLOW_S, MOST_S = 6.0, 45.0
"""Seconds of the processor: a test that takes longer is not asked, nor more tests at a time than this. What only such
tests would see counts as survived."""
T, R = TypeVar("T"), TypeVar("R")
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
    """A file of JSON lines: each mutant, and tests that fail without one. What it holds of the same sources is not done
    again."""

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
        found = [line for line in self.known if line.get("mutant") == f"{one} @{one.offset}"]
        return found[-1] if found else None


class Times:
    """Seconds of the processor that each test took when it was last asked, whatever the sources were then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.took_s: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}

    def take(self, answer: Answer) -> None:
        self.took_s |= answer.took_s

    def write(self) -> None:
        self.path.write_text(json.dumps(self.took_s, indent=0))


class Trial:
    """Mutants and the tests that are asked about them. `without`: tests that fail without a mutant."""

    def __init__(self, copies: list[Copy], results: Results, times: Times) -> None:
        self.copies, self.results, self.times = copies, results, times
        self.without = [str(test) for line in results.known for test in line.get("without", ())]
        self.free: SimpleQueue[Copy] = SimpleQueue()
        for copy in copies:
            self.free.put(copy)

    def each(self, what: Callable[[Copy, T], R], of: Iterable[T]) -> list[R]:
        """What is done with each of them, in a copy that is free."""

        def one(thing: T) -> R:
            copy = self.free.get()
            try:
                return what(copy, thing)
            finally:
                self.free.put(copy)

        with ThreadPoolExecutor(len(self.copies)) as pool:
            return list(pool.map(one, of))

    def prepare(self, tests: list[str]) -> None:
        """Byte code of all that is imported. Raises RuntimeError if a file of tests cannot be imported."""
        for copy in self.copies:
            answer = copy.ask(Question(tests, most_s=-1.0), write_bytecode=True)
            if answer.failed or answer.error:
                raise RuntimeError(f"without a mutant: {answer.failed or answer.error}")

    def judge(self, copy: Copy, one: Mutant) -> dict[str, Any]:
        """A line of the results."""
        begun, words = time.monotonic(), words_of(one, copy.root)
        line = {"mutant": f"{one} @{one.offset}", "kind": one.kind, "end": "survived", "killer": ""}
        rounds = [("behaviour", tests) for tests in rounds_of(one.path)] + [("locked", LOCKED)]
        with copy.changed(one):
            for end, tests in rounds:
                question = Question(tests, words, self.without, self.times.took_s, SLOW_S, MOST_S, limit_s=LIMIT_S)
                answer = copy.ask(question)
                self.times.take(answer)
                self.times.write()
                if answer.failed or answer.error:
                    line |= {"end": end, "killer": (answer.failed or [answer.error])[0]}
                    break
        line["took_s"] = round(time.monotonic() - begun, 1)
        print(f"{line['end']:9} {one.kind:10} {one}   {line['killer']}", flush=True)
        self.results.add(line)
        return line

    def failing(self, lines: list[dict[str, Any]]) -> list[str]:
        """Those that killed but fail without a mutant as well; they are asked no more."""
        killers = sorted({line["killer"] for line in lines if "::" in line["killer"]} - set(self.without))
        failed: list[str] = []
        for answer in self.each(
            lambda copy, part: copy.ask(Question(part, first=False, limit_s=LIMIT_S * 4)),
            [part for n in range(len(self.copies)) if (part := killers[n :: len(self.copies)])],
        ):
            if answer.error:
                raise RuntimeError(f"without a mutant: {answer.error}")
            failed += answer.failed
        self.without += failed
        self.results.add({"without": failed})
        return failed


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
    path = args.results or REPO / ".mutants" / f"seed-{args.seed}.jsonl"
    results, times = Results(path, args.fresh), Times(path.parent / "times.json")
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        trial = Trial([Copy(Path(name) / str(number)) for number in range(args.jobs)], results, times)
        trial.prepare(sorted({test for one in chosen for tests in rounds_of(one.path) for test in tests} | set(LOCKED)))
        lines = {one: line for one in chosen if (line := results.of(one)) and line["killer"] not in trial.without}
        while True:
            left = [one for one in chosen if one not in lines]
            lines |= dict(zip(left, trial.each(trial.judge, left), strict=True))
            failed = trial.failing(list(lines.values()))
            if not failed:
                break
            print(f"left out, for they fail without a mutant: {', '.join(failed)}", flush=True)
            lines = {one: line for one, line in lines.items() if line["killer"] not in failed}
        for copy in trial.copies:
            copy.close()
    counts = Counter((line["kind"], line["end"]) for line in lines.values())
    totals = [sum(n for (_, how), n in counts.items() if how == end) for end in ENDS]
    print(f"\n{table(counts)}\n| all | {' | '.join(map(str, totals))} |")
    killed = (totals[0] + totals[1]) / max(1, sum(totals))
    print(f"killed: {killed:.1%}, by behaviour {totals[0] / max(1, sum(totals)):.1%}; {time.monotonic() - start:.0f} s")
    return 0 if killed >= args.least else 1


if __name__ == "__main__":
    sys.exit(main())
