"""Which lines of the code that judges each test runs, so that a mutant is asked only of tests that can see it.

    python -m tests.mutants.reach [--jobs 2] [TEST ...]

Runs the tests that the map names for that code once, notes the lines that each runs and how long it took
(`.mutants/reach.json`), and names the comparisons and constants that none of them reaches: dead, or without a test.
Lines are only believed of a file that is as it was when they were noted.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import sys
import threading
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPO
from tests.mutants.draw import CODE, code_files, population, tests_of
from tests.mutants.mutant import Mutant
from tests.mutants.worker import Answer, asked, collected, each

FILE = REPO / ".mutants" / "reach.json"
SHARE = 40
"""Tests that one fork runs."""


Lines = set[tuple[str, int]]
"""(path, line)"""


@dataclass
class Reach:
    """`files`: path -> digest of the text whose lines were noted. `lines`: test -> path -> lines that it runs."""

    files: dict[str, str] = field(default_factory=dict)
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def sees(self, test: str, one: Mutant) -> bool:
        """Whether the test runs a line that the mutant changes, as far as that is known."""
        shows = [(path, lines) for path, lines in lines_of(one).items() if lines]
        if not shows or test not in self.lines or any(self.files.get(path) != digest(path) for path, _ in shows):
            return True
        return any(lines & set(self.lines[test].get(path, ())) for path, lines in shows)


def known() -> Reach:
    return Reach(**json.loads(FILE.read_text())) if FILE.exists() else Reach()


@cache
def digest(path: str) -> str:
    return hashlib.sha256((REPO / path).read_bytes()).hexdigest()[:16]


@cache
def lines_of(one: Mutant) -> dict[str, set[int]]:
    """Path -> lines by which a mutant of code shows; empty where any line may show it."""
    name, _, line = one.where.partition(":")
    if not one.path.endswith(".py"):
        return {}
    if line:
        return {one.path: {int(line)}}
    names, module, shows = re.findall(r"\w+", name), Path(one.path).stem, dict[str, set[int]]()
    for path in code_files(REPO):
        file = uses(path)
        if path == one.path or module in file.modules:
            if file.at_import.intersection(names):
                return {}
            shows[path] = {line for name in names for line in file.inside.get(name, ())}
    return shows


@dataclass
class Uses:
    """Name -> lines of functions that use it, names that are used while the file is imported, modules it imports."""

    inside: dict[str, set[int]]
    at_import: set[str]
    modules: set[str]


@cache
def uses(path: str) -> Uses:
    tree = ast.parse((REPO / path).read_text(encoding="utf-8"))
    out = Uses({}, set(), {n.module.split(".")[-1] for n in tree.body if isinstance(n, ast.ImportFrom) and n.module})
    out.modules |= {alias.name for n in tree.body if isinstance(n, ast.ImportFrom) for alias in n.names}
    edge: list[tuple[ast.AST, bool]] = [(tree, False)]
    while edge:
        node, inside = edge.pop()
        name = _name(node)
        if name and inside:
            out.inside.setdefault(name, set()).add(node.lineno)  # type: ignore[attr-defined]
        elif name:
            out.at_import.add(name)
        body = node.body if isinstance(node, ast.FunctionDef | ast.Lambda) else None
        within = body if isinstance(body, list) else [body]
        edge += [(child, inside or child in within) for child in ast.iter_child_nodes(node)]
    return out


def _name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


@cache
def wanted() -> dict[str, frozenset[int]]:
    """Path -> lines by which some mutant shows."""
    out: dict[str, set[int]] = {}
    for one in population(REPO):
        for path, lines in lines_of(one).items():
            out.setdefault(path, set()).update(lines)
    return {path: frozenset(lines) for path, lines in out.items()}


class Tracer:
    """Notes which of the wanted lines run while it is on. A function of which all have run is left alone: that costs a
    quarter of the time."""

    def __init__(self) -> None:
        self.files = {str(REPO / path): path for path in wanted()}
        self.left: dict[types.CodeType, set[int]] = {}

    def _of(self, code: types.CodeType) -> set[int]:
        if code not in self.left:
            lines = {line for _, _, line in code.co_lines()}
            self.left[code] = set(wanted()[self.files[code.co_filename]] & lines)
        return self.left[code]

    def __call__(self, frame: types.FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        if code.co_filename not in self.files or not (left := self._of(code)):
            return None

        def note(inner: types.FrameType, event: str, arg: object) -> Any:
            left.discard(inner.f_lineno)
            return note if left else None

        return note

    def told(self) -> dict[str, list[int]]:
        out: dict[str, set[int]] = {}
        for code, left in self.left.items():
            path = self.files[code.co_filename]
            lines = {line for _, _, line in code.co_lines()}
            out.setdefault(path, set()).update((wanted()[path] & lines) - left)
        return {path: sorted(lines) for path, lines in out.items()}


class Watch:
    """A plugin of pytest that runs what it has collected in forks and notes what each test reaches."""

    def __init__(self, jobs: int) -> None:
        self.jobs, self.reach = jobs, known()
        self.took_s: dict[str, float] = {}
        self.failed: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.session, items = session, list(session.items)
        shares = [items[at :: (len(items) + SHARE - 1) // SHARE] for at in range((len(items) + SHARE - 1) // SHARE)]
        self.reach.files = {path: digest(path) for path in code_files(REPO)}
        for n, (share, answer, _) in enumerate(each(self.run, shares, self.jobs)):
            self.reach.lines |= {test: answer.lines.get(test, {}) for test in answer.took_s}
            self.took_s |= answer.took_s
            self.failed += [answer.failed] if answer.failed else []
            print(f"{n + 1} of {len(shares)}: {len(share)} tests, {sum(answer.took_s.values()):.0f} s", flush=True)
        return True

    def run(self, share: Sequence[pytest.Item]) -> Answer:
        lines: dict[str, dict[str, list[int]]] = {}

        class Each:
            @pytest.hookimpl(wrapper=True)
            def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
                tracer = Tracer()
                threading.settrace(tracer)
                sys.settrace(tracer)
                try:
                    return (yield)
                finally:
                    sys.settrace(None)
                    threading.settrace(None)  # type: ignore[arg-type]
                    lines[item.nodeid] = tracer.told()

        self.session.config.pluginmanager.register(Each())
        answer = asked(self.session, "", "", share, to_end=True)
        answer.lines = lines
        return answer


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.reach")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("tests", nargs="*")
    args = parser.parse_args()
    watch = Watch(args.jobs)
    wanted()
    tests = args.tests or sorted({test for path in code_files(REPO) for test in tests_of(path)})
    collected(tests, watch)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(vars(watch.reach)))
    times = FILE.with_name("times.json")
    times.write_text(json.dumps((json.loads(times.read_text()) if times.exists() else {}) | watch.took_s, indent=0))
    ran = {(path, line) for of in watch.reach.lines.values() for path, lines in of.items() for line in lines}
    for one in population(REPO):
        shows = (
            {(path, line) for path, lines in lines_of(one).items() for line in lines}
            if one.path.startswith(CODE)
            else set()
        )
        if shows and not shows & ran:
            print(f"not reached: {one}")
    for test in watch.failed:
        print(f"fails: {test}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
