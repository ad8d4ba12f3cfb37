"""Dicts that a loop prints between two states of its bar: `{'loss': 0.1, 'reward': 0.3}` below `train: 7/300`."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct, field

from rltui.readers.console.dict_numbers import dict_cells
from rltui.readers.console.layouts import begins_evaluation
from rltui.readers.console.lead import bare
from rltui.readers.console.line_clock import LineClock
from rltui.readers.console.progress_bar import ProgressBar
from rltui.readers.keys import first_of
from rltui.readers.name_words import has_word, measures, words

MOST = 10_000
"""Most bytes of a dict on one line."""
MOST_BARS = 100

BarRow = tuple[int, dict[str, float], float]
"""Step, numbers and time of a row."""


class BarsAgain(Struct):
    """The steps of bars that begin again: a bar that ended and begins again goes on in the next epoch, one that did not
    end belongs to another launch."""

    _newest: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    """Name and total -> count, steps before."""

    def step(self, painted: ProgressBar) -> int:
        """The step that a bar shows. The same bar may be taken several times."""
        kind = painted.name, painted.total
        done, before = self._newest.get(kind, (0, 0))
        if painted.done < done:
            before = before + painted.total if done >= painted.total else 0
        if kind in self._newest or len(self._newest) < MOST_BARS:
            self._newest[kind] = painted.done, before
        return before + painted.done

    def goes_on(self, painted: ProgressBar) -> bool:
        """Whether a bar counts a later epoch: its total is not that of the training."""
        return self._newest.get((painted.name, painted.total), (0, 0))[1] > 0

    def launched(self) -> None:
        """Takes a line that tells that a program ended or another began: no bar goes on."""
        self._newest.clear()


class _Shown(Struct, frozen=True):
    """A bar: its name without numbers, its total, the step that it shows, and whether it is known to count those of the
    training."""

    name: str
    total: int
    step: int
    known: bool


@lru_cache(maxsize=64)
def _without_numbers(name: str) -> str | None:
    """The name of a bar without numbers; None if the bar is of an evaluation."""
    return None if has_word(name, words().evaluation) else "".join(c for c in name if not c.isdecimal())


class DictsByBar:
    """A single dict may be a result. They are rows if they come again with the same names while one bar goes on."""

    def __init__(self) -> None:
        self.tell = False
        self._bar: _Shown | None = None
        self._first: tuple[_Shown, dict[str, float], float] | None = None  # the first dict
        self._inner: set[str] = set()  # names of bars that began again

    def paint(self, painted: ProgressBar, step: int | None) -> None:
        """Takes a bar that shows a `step` of the training; None if its name does not tell what it counts."""
        if painted.nested or not painted.total or (name := _without_numbers(painted.name)) is None:
            return
        known, before = step is not None, self._bar
        if step is None:
            if name != painted.name or name in self._inner:
                return  # of one of many parts
            step = painted.done
            if before is not None and before.name == name and step < before.step:
                self._inner.add(name)
                self._bar = self._first = None
                return
        if before is not None and (
            before.known > known or (self.tell and (before.name, before.known) != (name, known))
        ):
            return
        if self.tell and before is not None and before.total != painted.total:
            return
        self._bar = _Shown(name, painted.total, step, known)

    def take(self, segment: bytes, clock: LineClock) -> list[BarRow] | None:
        """The rows that are known with this line; None if it is not such a dict, or the first one."""
        bar = self._bar
        if bar is None or len(segment) > MOST:
            return None
        said = bare(segment.decode("utf-8", "replace"))
        if begins_evaluation(said.partition("{")[0]):
            return None
        cells = dict_cells(said)
        if not cells or not measures(cells) or first_of("step", cells) is not None:
            return None
        time = clock.before(segment, segment.find(b"{"))
        if self.tell:
            return [(bar.step, cells, time)]
        first, self._first = self._first, (bar, cells, time)
        if first is None or (first[0].name, first[0].total) != (bar.name, bar.total) or first[0].step >= bar.step:
            return None
        if first[1].keys() != cells.keys():
            return None
        self.tell = True
        return [(first[0].step, *first[1:]), (bar.step, cells, time)]
