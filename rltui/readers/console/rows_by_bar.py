"""Numbers that a loop prints between two states of its bar, as a dict, `{'loss': 0.1, 'reward': 0.3}` below
`train: 7/300`, or in pairs, `loss=0.1 reward=0.3`."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct, field

from rltui.lazy_regex import lazy
from rltui.readers.console.dict_numbers import dict_cells
from rltui.readers.console.evaluation_titles import begins_evaluation
from rltui.readers.console.forms import RECENT
from rltui.readers.console.layouts import pair_cells, titled
from rltui.readers.console.lead import bare, plain
from rltui.readers.console.line_clock import LineClock
from rltui.readers.console.line_filter import is_prose
from rltui.readers.console.named_numbers import slots_of
from rltui.readers.console.notes import split_prefix
from rltui.readers.console.progress_bar import ProgressBar
from rltui.readers.console.step_template import may_count
from rltui.readers.keys import first_of
from rltui.readers.name_words import either, has_word, measures, words

MOST = 10_000
"""Most bytes of such a line."""
_NUMBER = r"(?:\d|[nN]a[nN]|[iI]nf)"
_TWO = lazy(rf"{_NUMBER}\D.*?{_NUMBER}", re.DOTALL)
MOST_BARS = 100
MOST_HELD = 8
"""Most lines that wait for one with the same names."""

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

    def goes_on_to(self, later: _Shown) -> bool:
        """Whether a state of the bar is a later one of this."""
        return (self.name, self.total) == (later.name, later.total) and self.step < later.step


@lru_cache(maxsize=64)
def _without_numbers(name: str) -> str | None:
    """The name of a bar without numbers; None if the bar is of an evaluation or of work for a step, `Generating`."""
    return None if has_word(name, words().evaluation | words().doing) else "".join(c for c in name if not c.isdecimal())


class _Printed(Struct, frozen=True):
    """Numbers below a state of a bar; None: above its first."""

    bar: _Shown | None
    cells: dict[str, float]
    time: float


class RowsByBar:
    """A single line of numbers may be a result. They are rows if one comes again with the same names while one bar goes
    on. A loop that prints them before its bar counts their step prints the first ones above the first state of the bar,
    or below its state at 0."""

    def __init__(self) -> None:
        self.tell = False
        self._bar: _Shown | None = None
        self._held: list[_Printed] = []  # until it is known whether they are rows
        self._early = False  # they come before the bar counts their step
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
                self._bar, self._held = None, []
                return
        if before is not None and (
            before.known > known or (self.tell and (before.name, before.known) != (name, known))
        ):
            return
        if self.tell and before is not None and before.total != painted.total:
            return
        self._bar = _Shown(name, painted.total, step, known)

    def take(self, segment: bytes, clock: LineClock, foretold: bool) -> list[BarRow] | None:
        """The rows that are known with this line; None if it holds no such numbers, or is the first one. `foretold`:
        its end may be missing."""
        bar = self._bar
        if len(segment) > MOST or (bar is None and foretold):
            return None
        decoded = segment.decode("utf-8", "replace")
        cells = _measured(decoded)
        if not cells:
            return None
        printed = _Printed(bar, dict(cells), clock.before(segment, segment.find(b"{" if b"{" in segment else b"=")))
        if self.tell and bar is not None:
            return [self._row(printed, bar)]
        if foretold:
            return None
        if bar is None:
            self._held = [printed]  # what is further above the first bar may be settings
            return None
        before = next((one for one in self._held if one.cells.keys() == cells.keys()), None)
        self._held = [*self._held, printed][-MOST_HELD:]
        if before is None:
            return None
        if before.bar is not None and not before.bar.goes_on_to(bar):
            self._held = [printed]
            return None
        self.tell = True
        held, self._held = [one for one in self._held if one.bar is not None or one is before], []
        self._early = held[0].bar is None or held[0].bar.step == 0
        return [
            self._row(one, one.bar or bar)
            for one in held
            if one.bar is None or one.bar.goes_on_to(bar) or one is printed
        ]

    def _row(self, printed: _Printed, bar: _Shown) -> BarRow:
        return bar.step + (self._early and printed.bar is not None), printed.cells, printed.time


@lru_cache(maxsize=RECENT)
def _measured(line: str) -> dict[str, float]:
    """The numbers of a line that may be a row of a bar's step; empty for any other line."""
    said = bare(line)
    cells = _dict(said) if "{" in said else _pairs(line)
    return cells if cells and measures(cells) and first_of("step", cells) is None else {}


def _dict(said: str) -> dict[str, float]:
    return {} if begins_evaluation(said.partition("{")[0]) else dict_cells(said) or {}


def _pairs(line: str) -> dict[str, float]:
    """The numbers of a line that holds several, each with its name, and counts nothing."""
    if is_prose(line) or _TWO.search(line) is None:
        return {}
    slots, others = slots_of(plain(split_prefix(line)[1])), either("evaluation", "items")
    if any(not slot.name or slot.of is not None or may_count(slot) or has_word(slot.name, others) for slot in slots):
        return {}
    title, pairs = titled(bare(line))
    cells = {} if begins_evaluation(title) else pair_cells(pairs) or {}
    return cells if len(cells) > 1 else {}
