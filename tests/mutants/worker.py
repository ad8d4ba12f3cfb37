"""Runs tests again and again in one copy of the repository, each time in a fresh process.

It is started in the copy and asked by lines of JSON. What the tests need of other people's packages is imported once;
each question is answered by a fork of it, which imports the package as its files are then.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from select import select
from typing import Any

import pytest

FOREIGN = ("_pytest.assertion.rewrite", "hypothesis", "jsonschema", "msgspec", "numpy", "orjson", "psutil", "yaml")
FOREIGN_PLUGINS = ("pytest_asyncio.plugin", "hypothesis.extra.pytestplugin")


@dataclass
class Question:
    """`tests`: files or folders, in the order in which they are asked; within it a test whose name holds one of the
    `words` comes first. `without`: tests that are left out. `first`: the first that fails ends it."""

    tests: list[str]
    words: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    first: bool = True
    limit_s: float = 600.0


@dataclass
class Answer:
    failed: list[str] = field(default_factory=list)
    took_s: dict[str, float] = field(default_factory=dict)
    error: str = ""
    """"time-out", or the exit code if pytest failed and no test did."""


class Asked:
    """A plugin of pytest: the order of the tests, and what became of them."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.answer = Answer()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        left_out = set(self.question.without)
        ranks = {test: n for n, test in enumerate(self.question.tests)}

        def key(item: pytest.Item) -> tuple[int, int]:
            name = plain(item.nodeid)
            file = item.nodeid.split("::")[0]
            rank = next((ranks[part] for part in (file, *map(str, Path(file).parents)) if part in ranks), len(ranks))
            return -sum(word in name for word in self.question.words), rank

        items[:] = sorted((item for item in items if item.nodeid not in left_out), key=key)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        took = self.answer.took_s
        took[report.nodeid] = took.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.answer.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.answer.failed.append(report.nodeid)


def plain(name: str) -> str:
    return name.lower().replace("-", "_")


def ask(question: Question, write_bytecode: bool) -> Answer:
    """The tests in a fork of this process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setsid()
        with contextlib.suppress(BaseException):
            answer = _run(question, write_bytecode)
            with os.fdopen(write, "w") as out:
                json.dump(asdict(answer), out)
        os._exit(0)
    os.close(write)
    told = b""
    end = time.monotonic() + question.limit_s
    with os.fdopen(read, "rb", buffering=0) as answered:
        while (left := end - time.monotonic()) > 0 and select([answered], [], [], left)[0]:
            part = answered.read(65536)
            if not part:
                break
            told += part
        late = time.monotonic() >= end
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests have started goes with them
    os.waitpid(child, 0)
    if late:
        return Answer(error="time-out")
    return Answer(**json.loads(told)) if told else Answer(error="died")


def _run(question: Question, write_bytecode: bool) -> Answer:
    sys.dont_write_bytecode = not write_bytecode  # byte code of a mutant must not outlive it
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    asked = Asked(question)
    words = [*(["-x"] if question.first else []), "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=no"]
    code = pytest.main([*words, *question.tests], plugins=[asked])
    if code and not asked.answer.failed:
        asked.answer.error = f"exit {int(code)}"
    return asked.answer


def main(lines: Sequence[str] | Any = sys.stdin) -> None:
    for name in (*FOREIGN, *FOREIGN_PLUGINS):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    assert not any(name.split(".")[0] == "rltui" for name in sys.modules)
    for line in lines:
        asked = json.loads(line)
        write_bytecode = asked.pop("write_bytecode", False)
        print(json.dumps(asdict(ask(Question(**asked), write_bytecode))), flush=True)


if __name__ == "__main__":
    main()
