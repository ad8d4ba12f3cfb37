"""Runs tests again and again in one copy of the repository, each time in a fresh process.

It is started in the copy and asked by lines of JSON. What the tests need of other people's packages is imported once;
each question is answered by a fork of it, which imports the package as its files are then.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from math import inf
from select import select
from typing import Any, TextIO

import pytest

FOREIGN = ("_pytest.assertion.rewrite", "hypothesis", "jsonschema", "msgspec", "numpy", "orjson", "psutil", "yaml")
FOREIGN_PLUGINS = ("pytest_asyncio.plugin", "hypothesis.extra.pytestplugin")
UNKNOWN_S = 0.1
"""What a test is taken to take that was never asked."""


@dataclass
class Question:
    """`tests`: files or folders. A test whose name holds one of the `words` comes first, else the quickest by `took_s`;
    `without`: tests that are left out, `slow_s`: those that take longer are, too, and the slowest of all that together
    take longer than `most_s`. `first`: the first that fails ends it. `limit_s`, `processor_s`: seconds of the clock and
    of the processor after which it is ended."""

    tests: list[str]
    words: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    took_s: dict[str, float] = field(default_factory=dict)
    slow_s: float = inf
    most_s: float = inf
    first: bool = True
    limit_s: float = 600.0
    processor_s: int = 400


@dataclass
class Answer:
    failed: list[str] = field(default_factory=list)
    took_s: dict[str, float] = field(default_factory=dict)
    """Test -> seconds of the processor."""
    error: str = ""
    """"time-out" of the clock, "died" (by the limit of the processor's time, too), or the exit code of a pytest that
    failed where no test did."""


class Asked:
    """A plugin of pytest: the order of the tests, and what became of them."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.answer = Answer()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        left_out, took = set(self.question.without), self.question.took_s
        kept = [i for i in items if i.nodeid not in left_out and took.get(i.nodeid, 0.0) <= self.question.slow_s]

        def key(item: pytest.Item) -> tuple[int, float]:
            name = plain(item.nodeid)
            return -sum(word in name for word in self.question.words), took.get(item.nodeid, UNKNOWN_S)

        kept.sort(key=key)
        until = accumulate(took.get(item.nodeid, UNKNOWN_S) for item in kept)
        items[:] = [item for item, end in zip(kept, until, strict=True) if end <= self.question.most_s]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Counts the seconds of the processor: those of the clock are other people's, too."""
        begun = time.process_time()
        done = yield
        self.answer.took_s[item.nodeid] = round(time.process_time() - begun, 3)
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.answer.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.answer.failed.append(report.nodeid)


def plain(name: str) -> str:
    return name.lower().replace("-", "_")


def ask(question: Question, write_bytecode: bool, asked: TextIO = sys.stdin) -> Answer:
    """The tests in a fork of this process. Nothing comes from who asked before there is an answer, but its end."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (question.processor_s, question.processor_s))
        with contextlib.suppress(BaseException):
            answer = _run(question, write_bytecode)
            with os.fdopen(write, "w") as out:
                json.dump(asdict(answer), out)
        os._exit(0)
    os.close(write)
    told = b""
    end = time.monotonic() + question.limit_s
    with os.fdopen(read, "rb", buffering=0) as answered:
        while (left := end - time.monotonic()) > 0 and (ready := select([answered, asked], [], [], left)[0]):
            if answered not in ready:
                break  # whoever asked has gone
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
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not asked.answer.failed:
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
