"""The other runs: how each stands, and the comparison with them. Read in threads of their own, told in messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from rltui.tui.messages import Compared, CompareProgress, Differs, RowsRead

if TYPE_CHECKING:
    from textual.app import App

    from rltui.compare.model import Comparison
    from rltui.compare.read import RunFacts
    from rltui.compare.runs import RunRow

TELL_EVERY_S = 0.2


class ManyOpener(Protocol):
    """Knows the other runs. Used by threads."""

    def rows(self) -> Iterator[tuple[int, RunRow]]:
        """How each of the runs found stands, by its number."""

    def facts(
        self, picked: Sequence[int], own: str, told: Callable[[int, int, str], None], cancelled: Callable[[], bool]
    ) -> list[RunFacts]:
        """What a comparison needs of the picked runs, else of all beside the run at `own`. `told`: done, of, next."""


class Many:
    """Asks about the other runs on behalf of the screens. One comparison is kept until another one is made."""

    def __init__(self, app: App[None], opener: object) -> None:
        self.app = app
        self.opener: ManyOpener = opener  # type: ignore[assignment]
        self.facts: tuple[RunFacts, ...] = ()
        self.comparison: Comparison | None = None
        self.reading: CompareProgress | None = None
        self._cancel = Event()

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
                problem = "" if enough else "no other run found beside this one; name more: rltui DIR, or compare A B"
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
