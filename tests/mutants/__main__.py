"""Draws mutants, asks the tests about each, tells who killed them."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPO
from tests.mutants.draw import LOCKED, drawn, plain, population, tests_of, words_of
from tests.mutants.mutant import Mutant
from tests.mutants.reach import known
from tests.mutants.worker import PROCESSOR_S, Answer, asked, collected, each

SLOW_S = 8.0
"""Seconds of the processor: a test that takes longer is not asked. What only such tests would see counts as survived,
as does what none has seen after `PROCESSOR_S`."""
NAMED = 100
"""A test is asked as early as one that is so many times quicker for each word of the mutant in its name."""
UNKNOWN_S = 0.1
"""What a test is taken to take that was never asked."""
ENDS = ("behaviour", "locked", "survived")
Line = dict[str, Any]


class Results:
    """A file of JSON lines, a mutant each. What it holds of the same sources is not done again."""

    def __init__(self, path: Path, fresh: bool) -> None:
        self.path = path
        digest = hashlib.sha256()
        for file in sorted(file for part in ("rltui", "tests") for file in (REPO / part).rglob("*") if file.is_file()):
            if "__pycache__" not in file.parts:
                digest.update(file.read_bytes())
        head = {"sources": digest.hexdigest()}
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() and not fresh else []
        self.known: dict[str, Line] = {line["mutant"]: line for line in lines[1:]} if lines[:1] == [head] else {}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in [head, *self.known.values()]))

    def add(self, line: Line) -> None:
        self.known[line["mutant"]] = line
        with self.path.open("a") as out:
            out.write(json.dumps(line) + "\n")


class Trial:
    """A plugin of pytest that asks the tests it has collected about mutants, instead of running them."""

    def __init__(self, chosen: Sequence[Mutant], results: Results, jobs: int) -> None:
        self.chosen, self.results, self.jobs = chosen, results, jobs
        self.times = results.path.parent / "times.json"
        self.took_s: dict[str, float] = json.loads(self.times.read_text()) if self.times.exists() else {}
        self.reach = known()
        self.without: set[str] = set()  # tests that fail without a mutant
        self.lines: dict[Mutant, Line] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.session, self.items = session, list(session.items)
        self.lines = {one: self.results.known[str(one)] for one in self.chosen if str(one) in self.results.known}
        while left := [one for one in self.chosen if one not in self.lines]:
            hurried: set[Mutant] = set()  # their time was over before all tests were asked
            for again, end in ((False, ENDS[0]), (True, ENDS[0]), (False, ENDS[1])):
                of = [one for one in left if one not in self.lines and (one in hurried or not again)]
                for one, answer, took in each(lambda mutant, end=end: self.ask(mutant, end), of, self.jobs):  # type: ignore[misc]
                    self.take(answer)
                    if answer.failed or answer.error:
                        self.tell(one, end, answer.failed or answer.error, took)
                    elif end == ENDS[0] and sum(answer.took_s.values()) > PROCESSOR_S:
                        hurried.add(one)  # by now it is known which tests are quick
                    elif end == ENDS[1]:
                        self.tell(one, ENDS[2], "", took)
            self.doubt()
        return True

    def ask(self, one: Mutant, end: str) -> Answer:
        file = REPO / one.path
        items = self.order(one) if end == ENDS[0] else self.of(LOCKED)
        return asked(self.session, one.path, one.applied(file.read_text(encoding="utf-8")), items)

    def of(self, tests: Sequence[str]) -> list[pytest.Item]:
        return [i for i in self.items if i.nodeid.startswith(tuple(tests)) and i.nodeid not in self.without]

    def order(self, one: Mutant) -> list[pytest.Item]:
        """The tests of behaviour that are asked about a mutant: the quickest first, and one that names it as if it were
        quicker. A word that many tests have in their names names nothing."""
        locked = {item.nodeid for item in self.of(LOCKED)}
        names = {i: plain(i.nodeid) for i in self.of(tests_of(one.path)) if i.nodeid not in locked}
        found = {word: [i for i, name in names.items() if word in name] for word in words_of(one, REPO)}
        naming = Counter(i for items in found.values() if len(items) < len(names) / 20 for i in items)
        quick = [i for i in names if self.took(i) <= SLOW_S and self.reach.sees(i.nodeid, one)]
        return sorted(quick, key=lambda i: self.took(i) / (1 + NAMED * naming[i]))

    def took(self, item: pytest.Item) -> float:
        return self.took_s.get(item.nodeid, UNKNOWN_S)

    def take(self, answer: Answer) -> None:
        self.took_s |= answer.took_s
        self.times.write_text(json.dumps(self.took_s, indent=0))

    def tell(self, one: Mutant, end: str, killer: str, took: float) -> None:
        line = {"mutant": str(one), "kind": one.kind, "end": end, "killer": killer, "took_s": round(took, 1)}
        print(f"{end:9} {one.kind:10} {one}   {killer}", flush=True)
        self.lines[one] = line
        self.results.add(line)

    def doubt(self) -> None:
        """Asks those that killed without a mutant. What fails then kills nothing."""
        killers = {line["killer"] for line in self.lines.values() if "::" in line["killer"]}
        of = [item for item in self.items if item.nodeid in killers]
        path = self.chosen[0].path
        text = (REPO / path).read_text(encoding="utf-8")
        for item, answer, _ in each(lambda item: asked(self.session, path, text, [item]), of, self.jobs):
            if answer.failed or answer.error:
                print(f"left out, fails without a mutant: {item.nodeid}", flush=True)
                self.without.add(item.nodeid)
        self.lines = {one: line for one, line in self.lines.items() if line["killer"] not in self.without}


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
    trial = Trial(chosen, Results(args.results or REPO / ".mutants" / f"seed-{args.seed}.jsonl", args.fresh), args.jobs)
    tests = sorted({test for one in chosen for test in tests_of(one.path)} | set(LOCKED))
    if code := collected(tests, trial):
        print(f"the tests cannot be collected: pytest ends with {code}")
        return 2
    counts = Counter((line["kind"], line["end"]) for line in trial.lines.values())
    totals = [sum(n for (_, how), n in counts.items() if how == end) for end in ENDS]
    print(f"\n{table(counts)}\n| all | {' | '.join(map(str, totals))} |")
    killed = (totals[0] + totals[1]) / max(1, sum(totals))
    print(f"killed: {killed:.1%}, by behaviour {totals[0] / max(1, sum(totals)):.1%}; {time.monotonic() - start:.0f} s")
    return 0 if killed >= args.least else 1


if __name__ == "__main__":
    sys.exit(main())
