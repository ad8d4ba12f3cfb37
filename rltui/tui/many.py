"""The other runs: the state of each, and the comparison with them. Threads read them and send messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Protocol

from rltui.tui.messages import Compared, CompareProgress, Differs, RowsRead

if TYPE_CHECKING:
    from textual.app import App

    from rltui.compare.model import Comparison
    from rltui.compare.read import ComparedRun
    from rltui.compare.runs import RunRow

TELL_EVERY_S = 0.2


class ManyOpener(Protocol):
    """Knows the other runs. Threads call it."""

    def rows(self) -> Iterator[tuple[int, RunRow]]:
        """The number and the state of each run that was found, from the ends of its logs."""

    def judged(self, number: int, cancelled: Callable[[], bool]) -> RunRow | None:
        """The state of one run, from its whole log. None after `cancelled`, or if the log is not read without a
        request, because it is too large or remote."""

    def facts(
        self,
        picked: Sequence[int],
        own: str,
        told: Callable[[int, int, str], None],
        lost: Callable[[str, Exception], None],
        cancelled: Callable[[], bool],
    ) -> list[ComparedRun]:
        """What a comparison needs to know about the picked runs, or else about all runs beside the one at `own`. `told`
        gets: runs read, runs in all, name of the next. `lost` gets the name of a run that fails, and rltui's error."""


class Many:
    """Asks about the other runs for the screens. A comparison is kept until another one is made."""

    def __init__(self, app: App[None], opener: object) -> None:
        self.app = app
        self.opener: ManyOpener = opener  # type: ignore[assignment]
        self.facts: tuple[ComparedRun, ...] = ()
        self.comparison: Comparison | None = None
        self.left_out: tuple[str, ...] = ()  # names of runs that an error in rltui excludes, each with the error
        self.reading: CompareProgress | None = None
        self.fault: Exception | None = None  # the first error in rltui itself
        self._cancel = Event()
        self._wanted: list[int] = []  # runs to read whole, the next first
        self._judged: set[int] = set()  # runs that were read whole
        self._judging = Lock()  # held by the only thread that reads them

    def judge(self, numbers: Sequence[int]) -> None:
        """Starts to read these runs whole, one after the other. They replace the runs that were wanted before."""
        self._wanted = [number for number in numbers if number not in self._judged]
        if self._wanted and self._judging.acquire(blocking=False):
            self._thread(self._judge, lambda text: None)

    def _judge(self) -> None:
        try:
            while self._wanted:
                number = self._wanted.pop(0)
                self._judged.add(number)
                try:
                    row = self.opener.judged(number, lambda: number not in self._judged)  # noqa: B023  asked at once
                except Exception as error:  # its row says "not looked", and the others are judged
                    self.fault = self.fault or error
                    continue
                if row is not None:
                    self.app.post_message(RowsRead({number: row}, False))
        finally:
            self._judging.release()
            self.judge(self._wanted)  # those that were wanted while this thread ended

    def judge_no_more(self) -> None:
        """Stops `judge`, even in the middle of a run. That run is read when it is wanted again."""
        self._wanted = []
        self._judged.clear()

    def look_over(self) -> None:
        """Starts to read the ends of the logs of all runs that were found."""

        def work() -> None:
            waiting: dict[int, RunRow] = {}
            told = time.monotonic()
            for number, row in self.opener.rows():
                waiting[number] = row
                if time.monotonic() - told >= TELL_EVERY_S:
                    self.app.post_message(RowsRead(waiting, False))
                    waiting, told = {}, time.monotonic()
            self.app.post_message(RowsRead(waiting, True))

        self._thread(work, lambda text: None)

    def compare(self, picked: Sequence[int], own: str) -> None:
        """Reads the picked runs (if there are none: those beside the run at `own`) and compares them."""
        self.cancel()
        cancel = self._cancel = Event()
        self.facts, self.comparison, self.left_out = (), None, ()
        left_out = []

        def lost(name: str, error: Exception) -> None:
            from rltui.evidence.guard import error_text

            self.fault = self.fault or error
            left_out.append(f"{name} ({error_text(error)})")

        def told(done: int, total: int, name: str) -> None:
            self.app.post_message(CompareProgress(done, total, name))

        def work() -> None:
            facts = self.opener.facts(picked, own, told, lost, cancel.is_set)
            from rltui.compare.build import compare_as_set
            from rltui.settings import load

            if not cancel.is_set():
                enough = len(facts) > 1
                problem = "" if enough else _too_few(left_out)
                comparison = compare_as_set(facts, load().compare) if enough else None
                self.app.post_message(Compared(comparison, tuple(facts), problem, tuple(left_out)))

        self._thread(work, lambda text: self.app.post_message(Compared(None, (), text)))

    def cancel(self) -> None:
        """Stops reading for a comparison."""
        self._cancel.set()
        self.reading = None

    def differ(self, a: str, b: str) -> None:
        """Sets the configs of two of the compared runs side by side."""
        runs = {run.id: run for run in self.facts}

        def work() -> None:
            from rltui.compare.configs import diff

            self.app.post_message(Differs(diff(a, runs[a].raw_config, b, runs[b].raw_config)))

        self._thread(work, lambda text: None)

    def _thread(self, work: Callable[[], None], failed: Callable[[str], object]) -> None:
        def guarded() -> None:
            try:
                work()
            except Exception as error:
                failed(f"the other runs could not be read: {type(error).__name__}: {error}")

        Thread(target=guarded, name="rltui-many", daemon=True).start()


def _too_few(left_out: Sequence[str]) -> str:
    if left_out:
        return f"too few runs are left to compare: a fault of rltui ended the reading of {', '.join(left_out)}"
    return "no other run found beside this one. Name more: rltui DIR, or compare A B"
