"""Asks the tests about a mutant in a fork of a process that has imported and collected them all.

The fork changes the package in memory (`inplace`) and runs the items it is asked for; nothing of it outlives it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from select import select
from typing import TypeVar

import _pytest.main
import pytest

from tests.conftest import REPO
from tests.mutants import inplace

T = TypeVar("T")
LIMIT_S, PROCESSOR_S = 900.0, 120.0
"""Seconds of the clock after which a fork is ended, and of the processor after which it asks no further test."""

LONGEST_S = 60.0
"""Seconds of the processor after which a test counts as failed: a mutant made a loop endless."""


class Endless(BaseException):
    """No check of the package may catch it."""


def collected(tests: Sequence[str], plugin: object) -> int:
    """Has pytest collect tests, in their own order and without the labelled runs, for a plugin that runs them. Returns
    pytest's exit code."""
    os.environ |= {
        "RLTUI_TEST_RUNS": str(REPO / "none"),
        "CI": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    os.chdir(REPO)
    options = ["-qq", "-s", "--no-header", "--no-summary", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly"]
    return pytest.main([*options, *tests], plugins=[plugin])


@contextlib.contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """Raises Endless in what takes longer, in seconds of the processor."""

    def end(number: int, frame: object) -> None:
        raise Endless

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


@dataclass
class Answer:
    """`failed`: the first test that did. `error`: what importing the mutant raised. A fork that dies or waits too long
    has found neither."""

    failed: str = ""
    took_s: dict[str, float] = field(default_factory=dict)
    """Test -> seconds of the processor."""
    error: str = ""
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """Test -> path -> lines that it ran, where that was asked for (`reach`)."""


class Noted:
    """A plugin of pytest: what became of the tests."""

    def __init__(self, session: pytest.Session, to_end: bool) -> None:
        self.session, self.to_end, self.answer = session, to_end, Answer()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Counts the seconds of the processor: those of the clock are other people's, too."""
        begun = time.process_time()
        done = yield
        self.answer.took_s[item.nodeid] = round(time.process_time() - begun, 3)
        if not self.to_end and sum(self.answer.took_s.values()) > PROCESSOR_S:
            self.session.shouldstop = "it took long enough"
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Item) -> Generator[None, object, object]:
        try:
            with ended_after(LONGEST_S):
                return (yield)
        except Endless:
            pytest.fail("it does not end")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.answer.failed = self.answer.failed or (report.nodeid if report.failed else "")


def asked(session: pytest.Session, path: str, text: str, items: Sequence[pytest.Item], to_end: bool = False) -> Answer:
    """What these tests say of a package of which one file has another text (no path: the package as it is); the first
    that fails ends it, unless they are to be run to the end."""
    noted = Noted(session, to_end)
    try:
        if path:
            inplace.take(path, text)
    except Exception as error:
        return Answer(error=f"{type(error).__name__} when it is imported")
    session.config.pluginmanager.register(noted)
    session.config.option.maxfail = 0 if to_end else 1
    session.items[:] = items
    with contextlib.suppress(session.Failed, session.Interrupted):
        _pytest.main.pytest_runtestloop(session)
    return noted.answer


def each(work: Callable[[T], Answer], of: Iterable[T], jobs: int) -> Iterator[tuple[T, Answer, float]]:
    """What becomes of each, and how long it took: so many forks at a time, in the order in which they end."""
    waiting, running = iter(of), {}
    while True:
        while len(running) < jobs and (one := next(waiting, None)) is not None:
            child, end = _fork(lambda thing=one: work(thing))  # type: ignore[misc]
            running[end] = (one, child, b"", time.monotonic())
        if not running:
            return
        for end in select(list(running), [], [], 10.0)[0]:
            one, child, told, begun = running[end]
            part = os.read(end, 65536)
            running[end] = (one, child, told + part, begun)
            if not part:
                del running[end]
                yield one, _ended(child, end, told), time.monotonic() - begun
        for end, (one, child, _, begun) in list(running.items()):
            if time.monotonic() - begun > LIMIT_S:
                del running[end]
                _ended(child, end, b"")
                yield one, Answer(), LIMIT_S


def _fork(work: Callable[[], Answer]) -> tuple[int, int]:
    """The child and the end at which its answer comes."""
    end, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return child, end
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    with contextlib.suppress(BaseException), os.fdopen(write, "w") as out:
        json.dump(asdict(work()), out)
    os._exit(0)


def _ended(child: int, end: int, told: bytes) -> Answer:
    os.close(end)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests have started goes with them
    os.waitpid(child, 0)
    return Answer(**json.loads(told)) if told else Answer()
