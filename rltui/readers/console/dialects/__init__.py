"""Console dialects beyond verl's and TRL's. A new one is a small module here and a place in `DIALECTS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from math import nan

from msgspec.structs import replace

from rltui.readers.console.dialects.base import NEWEST, LineDialect, Step
from rltui.readers.console.dialects.box_table import BoxTable
from rltui.readers.console.dialects.dict_block import DictBlock
from rltui.readers.console.dialects.environments import Environments
from rltui.readers.console.dialects.epoch_steps import EpochSteps
from rltui.readers.console.dialects.eval_table import EvalTable
from rltui.readers.console.dialects.metrics_panel import MetricsPanel
from rltui.readers.console.dialects.roll import RollJson
from rltui.readers.console.dialects.rollout_dicts import RolloutDicts
from rltui.readers.console.forms import nothing_alike
from rltui.readers.console.line_clock import LineClock, lead_of
from rltui.readers.console.open_end import OpenEnd

DIALECTS: tuple[Callable[[], LineDialect], ...] = (
    BoxTable,
    DictBlock,
    Environments,
    EpochSteps,
    EvalTable,
    MetricsPanel,
    RollJson,
    RolloutDicts,
)
"""Asked in this order; the first that knows a line takes it."""
_Known = tuple[list[LineDialect], list[float], list[int]]


class Dialects(OpenEnd[_Known]):
    """All dialects of one log, asked as if they were one."""

    def __init__(self) -> None:
        super().__init__()
        self._each = [dialect() for dialect in DIALECTS]
        self._times = [nan] * len(DIALECTS)  # of the newest line with a stamp that belongs to an open step
        self._lines = [0] * len(DIALECTS)  # number of the line that the open step began with
        self.marks = [mark for dialect in self._each for mark in dialect.marks]
        self._marked = nothing_alike(lambda message: any(mark in message for mark in self.marks))

    @property
    def is_open(self) -> bool:
        """Whether any following line may belong to an open step."""
        return any(dialect.is_open for dialect in self._each)

    def line(self, prefix: str, message: str, clock: LineClock | None = None, number: int = 0) -> list[Step] | None:
        """The steps that are complete with this line (`number`: its line number); None if no dialect knows the line."""
        if not (self._marked(message) or self.is_open):
            return None
        for place, dialect in enumerate(self._each):
            if dialect.is_open or any(mark in message for mark in dialect.marks):
                was_open = dialect.is_open
                done = dialect.line(prefix, message)
                begun = dialect.is_open and not was_open
                if clock is not None and (done is not None or begun):
                    done = self._timed(place, done, clock.of(lead_of(message)))
                done = done and self._placed(place, done)
                if begun or (done and dialect.is_open):
                    self._lines[place] = number
                if done is not None:
                    return done
        return None

    def _timed(self, place: int, done: list[Step] | None, now: float) -> list[Step] | None:
        """The steps that a line with the time `now` completes, each with its own time."""
        held, late = self._times[place], self._each[place].late
        if not done or late or now == now:
            self._times[place] = now if now == now or done else held
        if not done:
            return done
        newest = held if late or now != now else now
        return [*(replace(step, time=held) for step in done[:-1]), replace(done[-1], time=newest)]

    def _placed(self, place: int, done: list[Step]) -> list[Step]:
        """The steps that a line completes, each with the number of the line where it began."""
        return [replace(step, line=self._lines[place]) for step in done]

    def close(self) -> list[Step]:
        """The steps that are held back, as the file ends here."""
        each = zip(self._each, self._times, self._lines, strict=True)
        return [replace(step, time=time, line=line) for dialect, time, line in each for step in dialect.close()]

    def look_back(self) -> list[Step]:
        """The steps so far, as the file ends here for now. It changes nothing."""
        if self._kept is None:
            self.look_ahead()
        steps = self.close()
        self.go_back()
        return steps

    @property
    def _known(self) -> _Known:
        return self._each, self._times, self._lines

    @_known.setter
    def _known(self, known: _Known) -> None:
        self._each, self._times, self._lines = known

    def _copied(self) -> _Known:
        return deepcopy(self._known)


def knows(messages: Iterable[tuple[str, str]]) -> bool:
    """Whether one of the dialects finds a step in these lines (prefix, message)."""
    dialects = Dialects()
    each = (step for prefix, message in messages for step in dialects.line(prefix, message) or ())
    return any(step.step != NEWEST for step in each) or bool(dialects.close())
