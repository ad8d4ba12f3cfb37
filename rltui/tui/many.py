"""The other runs: how each stands, and the comparison with them. Read in threads of their own, told in messages."""

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
    """Knows the other runs. Used by threads."""

    def rows(self) -> Iterator[tuple[int, RunRow]]:
        """How each of the runs found stands, by its number, as far as the ends of its logs tell."""

    def judged(self, number: int, cancelled: Callable[[], bool]) -> RunRow | None:
        """How one of the runs stands by its whole log; None for one that is too large, or too far away, to be read
        unasked, or once it is `cancelled`."""

    def facts(
        self, picked: Sequence[int], own: str, told: Callable[[int, int, str], None], cancelled: Callable[[], bool]
    ) -> list[ComparedRun]:
        """What a comparison needs of the picked runs, else of all beside the run at `own`. `told`: done, of, next."""


class Many:
    """Asks about the other runs on behalf of the screens. One comparison is kept until another one is made."""

    def __init__(self, app: App[None], opener: object) -> None:
        self.app = app
        self.opener: ManyOpener = opener  # type: ignore[assignment]
        self.facts: tuple[ComparedRun, ...] = ()
        self.comparison: Comparison | None = None
        self.reading: CompareProgress | None = None
        self._cancel = Event()
        self._wanted: list[int] = []  # runs to read whole, the next first
        self._judged: set[int] = set()  # those that were
        self._judging = Lock()  # held by the one thread that does

    def judge(self, numbers: Sequence[int]) -> None:
        """Has these runs read whole, one after the other, instead of those that were wanted before."""
        self._wanted = [number for number in numbers if number not in self._judged]
        if self._wanted and self._judging.acquire(blocking=False):
            self._thread(self._judge, lambda text: None)

    def _judge(self) -> None:
        try:
            while self._wanted:
                number = self._wanted.pop(0)
                self._judged.add(number)
                row = self.opener.judged(number, lambda: number not in self._judged)  # noqa: B023  asked at once
                if row is not None:
                    self.app.post_message(RowsRead({number: row}, False))
        finally:
            self._judging.release()
            self.judge(self._wanted)  # what was wanted while this thread ended

    def judge_no_more(self) -> None:
        """Stops that, in the middle of a run too: it will be read when it is wanted again."""
        self._wanted = []
        self._judged.clear()

    def look_over(self) -> None:
        """Has the runs found looked at from their ends."""

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
        """Reads the picked runs (none: those beside the run at `own`) and compares them."""
        self.cancel()
        cancel = self._cancel = Event()
        self.facts, self.comparison = (), None

        def told(done: int, total: int, name: str) -> None:
            self.app.post_message(CompareProgress(done, total, name))

        def work() -> None:
            facts = self.opener.facts(picked, own, told, cancel.is_set)
            from rltui.compare.build import compare_as_set
            from rltui.settings import load

            if not cancel.is_set():
                enough = len(facts) > 1
                problem = "" if enough else "no other run found beside this one. Name more: rltui DIR, or compare A B"
                self.app.post_message(
                    Compared(compare_as_set(facts, load().compare) if enough else None, tuple(facts), problem)
                )

        self._thread(work, lambda text: self.app.post_message(Compared(None, (), text)))

    def cancel(self) -> None:
        """Stops the reading for a comparison, if one goes on."""
        self._cancel.set()
        self.reading = None

    def differ(self, a: str, b: str) -> None:
        """Has the configs of two of the compared runs set side by side."""
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
