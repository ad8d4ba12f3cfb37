"""Console dialects beyond verl's and TRL's. A new one is a small module here and a place in `DIALECTS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import nan

from rltui.readers.console.dialects.base import LineDialect, Step
from rltui.readers.console.dialects.box_table import BoxTable
from rltui.readers.console.dialects.dict_block import DictBlock
from rltui.readers.console.dialects.environments import Environments
from rltui.readers.console.dialects.epoch_steps import EpochSteps
from rltui.readers.console.dialects.metrics_panel import MetricsPanel
from rltui.readers.console.dialects.roll import RollJson
from rltui.readers.console.dialects.rollout_dicts import RolloutDicts
from rltui.readers.console.line_clock import LineClock, lead_of

DIALECTS: tuple[Callable[[], LineDialect], ...] = (
    BoxTable,
    DictBlock,
    Environments,
    EpochSteps,
    MetricsPanel,
    RollJson,
    RolloutDicts,
)
"""Asked in this order; the first that knows a line keeps it."""


class Dialects:
    """One of each, for one log: together they are asked like one."""

    def __init__(self) -> None:
        self._each = [dialect() for dialect in DIALECTS]
        self._times = [nan] * len(DIALECTS)  # of the newest line with a stamp that belongs to an open step
        self.marks = [mark for dialect in self._each for mark in dialect.marks]

    @property
    def is_open(self) -> bool:
        """Whether any line may matter that follows."""
        return any(dialect.is_open for dialect in self._each)

    def line(self, prefix: str, message: str, clock: LineClock | None = None) -> list[Step] | None:
        """Steps that are complete with this line; None for a line that none of them knows."""
        for place, dialect in enumerate(self._each):
            if dialect.is_open or any(mark in message for mark in dialect.marks):
                was_open = dialect.is_open
                done = dialect.line(prefix, message)
                begun = dialect.is_open and not was_open
                if clock is not None and (done is not None or begun):
                    done = self._timed(place, done, clock.of(lead_of(message)))
                if done is not None:
                    return done
        return None

    def _timed(self, place: int, done: list[Step] | None, now: float) -> list[Step] | None:
        """What a dialect's line of the time `now` completes, each step by its own time."""
        held, late = self._times[place], self._each[place].late
        if not done or late or now == now:
            self._times[place] = now if now == now or done else held
        if not done:
            return done
        newest = held if late or now != now else now
        return [*(replace(step, time=held) for step in done[:-1]), replace(done[-1], time=newest)]

    def close(self) -> list[Step]:
        """The file ends here: what is held back."""
        each = zip(self._each, self._times, strict=True)
        return [replace(step, time=time) for dialect, time in each for step in dialect.close()]


def knows(messages: Iterable[tuple[str, str]]) -> bool:
    """Whether one of the dialects finds a step in these lines, (prefix, message) each."""
    dialects = Dialects()
    return any(dialects.line(prefix, message) for prefix, message in messages) or bool(dialects.close())
