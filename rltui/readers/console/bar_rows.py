"""Rows whose steps a progress bar counts, as TRL and the HF Trainer log them, and the numbers that bars show."""

from __future__ import annotations

from collections.abc import Callable

from rltui.readers.console.bar_numbers import BarNumbers
from rltui.readers.console.lead import bare
from rltui.readers.console.line_clock import LineClock
from rltui.readers.console.log_news import LogNews
from rltui.readers.console.log_rows import LogRows
from rltui.readers.console.progress_bar import TRAINING, ProgressBar, bar, stamp_before
from rltui.readers.console.step_template import measures
from rltui.readers.console.trl import Row, Stepper, stated_step
from rltui.readers.literals import dict_cells

MOST = 10_000
"""Bytes of a dict on one line."""
_BESIDE_STEPS = "number behind a bar of batches, beside lines that state their steps"


class BarRows:
    """Puts them among the rows of a log. `skip` is told why how many numbers were left out at which line."""

    def __init__(self, rows: LogRows, news: LogNews, skip: Callable[[str, int, int], None]) -> None:
        self._rows = rows
        self._news = news
        self._skip = skip
        self._stepper = Stepper()
        self._numbers = BarNumbers()
        self._dicts = _DictsByBar()

    @property
    def guessed(self) -> bool:
        """A line that states no step got one that it may not have."""
        return self._stepper.guessed

    @property
    def counts(self) -> bool:
        """Rows are counted, as nothing states their steps."""
        return self._stepper.counts

    def paint(self, painted: ProgressBar, after_blank: Callable[[], bool], line: int) -> None:
        """A bar is painted. `after_blank` is asked only of a bar that counts steps."""
        if self._stepper.looks_at(painted):
            self._dicts.paint(painted)
            self._add(self._stepper.paint(painted, after_blank()))
        trains = not painted.nested and painted.name in TRAINING
        if trains and painted.total == (self._stepper.total or painted.total):
            self._news.progress(painted.done, painted.total, line)
        elif self._numbers.tell and (place := self._numbers.place(painted)) is not None:
            if place[1]:
                self._news.progress(place[0], place[1], line)
        else:
            self._news.other_work(painted, line)

    def logged(self, cells: dict[str, str], after_blank: bool, line: int, time: float) -> None:
        """A dict is logged: a row at the step that it states, else at that of the bar."""
        stated = stated_step(cells)
        if stated is None:
            self._add(self._stepper.place(cells, after_blank, time))
            return
        self._rows.add(stated[0], cells, time)
        if stated[1] is not None:
            self._news.progress(stated[0], stated[1], line)

    def take_dict(self, segment: bytes) -> bool:
        """Whether a dict that states neither step nor epoch is a row of the step that the bar above it counts."""
        if self._rows.step is not None and not self._dicts.tell:
            return False  # others state their steps
        rows = self._dicts.take(segment, self._rows.clock)
        for row in rows or ():
            self._rows.add(*row)
        return rows is not None

    def know(self, steps: list[int]) -> None:
        """These steps were logged, as a printed history tells."""
        self._stepper.know(steps)
        self._add([])

    @property
    def waits(self) -> bool:
        return self._stepper.waits

    def settle(self, over: bool = True) -> None:
        """Nothing more tells the steps of the rows that are held back, be the log `over` or quiet."""
        self._add(self._stepper.settle(over))

    def take_numbers(self, painted: ProgressBar, text: bytes, line: int) -> None:
        """The numbers behind a bar."""
        time = self._rows.clock.before(text, stamp_before(text))
        self._add_numbers(lambda: self._numbers.take(painted, text.decode("utf-8", "replace"), time), line)

    def newest(self) -> int:
        """The step that the log is at by its rows, or by the numbers that a bar shows now; -1 before the first."""
        told = self._rows.step
        shown = self._numbers.newest if told is None or self._numbers.tell else None
        return next((step for step in (shown, told) if step is not None), -1)

    def take_newest(self, rest: bytes, line: int) -> None:
        """The numbers behind the bar that is painted now: its line ends when it is painted again."""
        painted = rest.rpartition(b"\r")[2].rstrip()
        if painted.endswith(b"]") and (shown := bar(painted)) is not None:
            self.take_numbers(shown, painted, line)

    def so_far(self, line: int) -> None:
        """What bars have shown until now counts."""
        self._add_numbers(self._numbers.so_far, line)

    def _add(self, rows: list[Row]) -> None:
        """Behind those that were counted, whose steps may be known by now."""
        if placed := self._stepper.take_placed():
            self._rows.place(placed, self._stepper.counts)
        for row in rows:
            self._rows.add(*row)

    def _add_numbers(self, numbers: Callable[[], list[tuple[int, dict[str, float], float]]], line: int) -> None:
        """What bars show, if nothing else states steps."""
        if self._rows.step is None or self._numbers.tell:
            for row in numbers():
                self._rows.add(*row)
        elif lost := self._numbers.drop():
            self._skip(_BESIDE_STEPS, line, lost)


class _DictsByBar:
    """Dicts that a loop prints between the paintings of its bar: `{'loss': 0.1, 'reward': 0.3}` below `7/300`.

    One dict may be a result; rows are those that come again, with the same names, while one bar goes on."""

    def __init__(self) -> None:
        self.tell = False
        self._bar: ProgressBar | None = None
        self._total = 0  # of the bar that counts the steps, once it is known
        self._first: tuple[int, int, dict[str, float], float] | None = (
            None  # count and total of the bar above; its time
        )

    def paint(self, painted: ProgressBar) -> None:
        if not self._total or painted.total == self._total:
            self._bar = painted

    def take(self, segment: bytes, clock: LineClock) -> list[tuple[int, dict[str, float], float]] | None:
        """The rows that are known by this line, none for the first of its kind; None if it is no such dict."""
        bar = self._bar
        if bar is None or len(segment) > MOST:
            return None
        cells = dict_cells(bare(segment.decode("utf-8", "replace")))
        if len(cells) < 2 or not measures(cells):
            return None
        time = clock.before(segment, segment.find(b"{"))
        if self.tell:
            return [(bar.done, cells, time)]
        first, self._first = self._first, (bar.done, bar.total, cells, time)
        if first is None or first[1] != bar.total or first[0] >= bar.done or first[2].keys() != cells.keys():
            return None
        self.tell, self._total = True, bar.total
        return [(first[0], *first[2:]), (bar.done, cells, time)]
