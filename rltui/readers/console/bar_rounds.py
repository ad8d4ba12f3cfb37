"""Bars that end again and again, as in a loop that gathers and trains in each iteration, with one bar for each:

    gather: 100%|████| 4/4 [00:20<00:00, reward=0.31]
    train: 100%|████| 3/3 [00:09<00:00, loss=0.12]

No bar counts the iterations, so they are counted here: a new one begins when the first of these bars begins again. An
iteration has the numbers that each bar showed last.
"""

from __future__ import annotations

from math import nan

from msgspec import Struct, field

from rltui.readers.console.progress_bar import TRAINING, ProgressBar
from rltui.readers.name_words import has_word, words

Row = tuple[int, dict[str, float], float]
"""The count of the iteration, its numbers and its time."""
FEW_PARTS = 64
"""A bar with more parts than this plus twice those of the first bar counts training steps: its numbers cannot wait for
its end."""
MOST_PARTS = 2000
"""A bar with more parts than this counts training steps too, however many the first bar has."""


class BarRounds(Struct):
    """`sure`: the first bar ended and began again, and another bar was shown in between. `refuted`: the bars count
    training steps after all. `beside`: other lines state the steps, so the bars count parts of steps."""

    sure: bool = False
    beside: bool = False
    refuted: bool = False
    _first: str = ""  # name of the bar with which iterations begin
    _parts: int = 0  # of that bar
    _over: bool = False  # that bar ended in this iteration
    _shown: set[str] = field(default_factory=set)  # bars of this iteration
    _cells: dict[str, float] = field(default_factory=dict)  # of this iteration
    _time: float = nan
    _count: int = 1
    _news: bool = False  # some numbers were not returned yet

    def concerns(self, painted: ProgressBar) -> bool:
        """Whether a bar with numbers may count a part of an iteration: it has a name of its own and is not that of an
        evaluation."""
        named = painted.name not in TRAINING and not any(map(str.isdecimal, painted.name))
        return named and not (self.refuted or painted.nested or has_word(painted.name, words().evaluation))

    @property
    def in_doubt(self) -> bool:
        """Whether more than one bar was shown, and none has begun again."""
        return len(self._shown) > 1 and not (self.sure or self.refuted or self.beside)

    def take(self, painted: ProgressBar, cells: dict[str, float], time: float, waits: bool = True) -> list[Row] | None:
        """Takes a bar for which `concerns` is true. `waits`: its name says that it may count the steps. Returns the
        iterations that are over; None if the bar may count the training steps, as no other bar was shown before it."""
        out: list[Row] = []
        first = painted.name == self._first
        if first and self._over and painted.done < painted.total:
            if len(self._shown) > 1:
                self.sure = True
                out = [(self._count, self._cells, self._time)] if self._news else []
                self._count += 1
            self._shown, self._cells, self._over, self._news = set(), {}, False, False
        if not self._shown and not self.sure:
            self._first, self._parts = painted.name, painted.total
        self.refuted |= not self.sure and self._counts_steps(painted, waits)
        alone = self.refuted or (not self.sure and not self._shown - {painted.name})
        self._shown.add(painted.name)
        self._over |= painted.name == self._first and painted.done >= painted.total
        self._cells |= cells
        self._time, self._news = time, True
        return None if alone else out

    def _counts_steps(self, painted: ProgressBar, waits: bool) -> bool:
        """Whether the bars do not count parts of iterations: another bar is shown inside the first one, or a bar whose
        numbers wait (`waits`) has far more parts than the first."""
        if painted.name != self._first and not self._over:
            return True
        few = painted.name == self._first or not waits
        return painted.total > (MOST_PARTS if few else min(MOST_PARTS, FEW_PARTS + 2 * self._parts))

    def so_far(self) -> list[Row]:
        """The iteration so far, as nothing follows for now."""
        if not (self.sure and self._news):
            return []
        self._news = False
        return [(self._count, dict(self._cells), self._time)]
