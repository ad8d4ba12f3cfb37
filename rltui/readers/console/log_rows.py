"""The rows of a console log in the order of its lines: verl's step lines, which are cut out of a block beforehand and
parsed many at once, and between them those of others, one by one."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from math import isnan, nan

from rltui.readers.base import Counted, Record, Rows, Treated
from rltui.readers.console import verl as verl_console
from rltui.readers.console.line_clock import LineClock
from rltui.readers.console.step_template import StepRow
from rltui.readers.rows import RowBuilder

UNDATED = "rows without a time, as the time stamps of the lines have no date and no line above them has one"


@dataclass(slots=True)
class _StepLines:
    """Step lines of verl in one block: what stood before each, where they began in the text without them, how
    far reading and adding got; the times of those that were reached."""

    steps: list[int]
    lines: list[bytes]
    heads: list[bytes]
    offsets: list[int]
    times: list[float] = field(default_factory=list)
    reached: int = 0
    added: int = 0


class LogRows:
    """Collects them. `step`: the newest training step; `came`: a row of a step was read; `clock` tells the times of the
    log's lines. `foretells`: rows come that may come again, as the log may go on within them; those that come again as
    they were are no news."""

    def __init__(self, skipped: Counter[str], skipped_at: dict[str, str]) -> None:
        self.foretells = False
        self._foretold: dict[int, Mapping[str, object]] = {}
        self.step: int | None = None
        self.came = False
        self.clock = LineClock()
        self._rows = RowBuilder(skipped, skipped_at)
        self._given: list[Record] = []  # rows that came before the steps of others were known, and those
        self._counts = False  # rows were counted, as nothing tells their steps
        self._cut = _StepLines([], [], [], [])

    def cut(self, block: bytes) -> bytes:
        """The block without verl's step lines."""
        if b"step:" not in block:
            return block
        steps, lines, around = verl_console.cut(block)
        if not lines:
            return block
        heads = [before[before.rfind(b"\n") + 1 :] for before in around[:-1]]
        self._cut = _StepLines(steps, lines, heads, list(accumulate(map(len, around[:-1]))))
        return b"".join(around)

    def waits(self, at: int) -> bool:
        """Whether step lines were cut out before a place of the text that `reach` has not passed yet."""
        return bisect_right(self._cut.offsets, at) > self._cut.reached

    def reach(self, at: int) -> None:
        """Takes note of the step lines before a place where they wait."""
        cut, clock = self._cut, self.clock
        before, cut.reached = cut.reached, bisect_right(cut.offsets, at)
        for head in cut.heads[before : cut.reached]:
            cut.times.append(time := clock.before(head, len(head)))
            clock.know(time)
        self.step = cut.steps[cut.reached - 1]

    def add(self, step: int, cells: Mapping[str, object], time: float = nan) -> None:
        """One row of the step that the log is at."""
        self.add_aside(step, cells, time)
        self.step = step
        self.came = True

    def tell(self, row: StepRow) -> None:
        """What a step line says: it may be but the step."""
        if row.aside:
            self.add_aside(row.step, row.cells, row.time)
            return
        if row.cells:
            self.add(row.step, row.cells, row.time)
        self.step = row.step

    def add_aside(self, step: int, cells: Mapping[str, object], time: float = nan) -> None:
        """One row that does not tell where the log is."""
        self._add_cut()
        if self.foretells:
            self._foretold[step] = dict(cells)
        elif self._foretold and self._foretold.pop(step, None) == cells:
            return
        self._rows.add(step, cells, time)
        self.clock.know(time)

    def place(self, steps: dict[int, int], counts: bool) -> None:
        """Rows that were counted have these steps: count -> step. `counts`: others are still counted."""
        self._add_cut()
        self._counts = counts
        self._given += [*self._rows.take(), Counted(counts, steps)]
        self.step = max(steps.values())

    def give(self, records: Iterable[Record], place: str) -> None:
        """Rows that were printed all at once at a place, and what was done with them."""
        self._add_cut()
        self._given += self._rows.take()
        for record in records:
            if isinstance(record, Rows):
                record.printed, self.came = place, True
                self.step = max(self.step or 0, *record.steps)
            if isinstance(record, Rows | Treated):
                self._given.append(record)

    @property
    def names(self) -> Collection[str]:
        """Of the metrics of the rows so far."""
        return self._rows.names

    def take(self, counts: bool) -> list[Record]:
        """What was collected, when the text of the block is read. `counts`: rows were counted by now."""
        self._add_cut()
        self._cut = _StepLines([], [], [], [])
        given, self._given = self._given, []
        given += self._rows.take()
        if self._counts != counts:
            self._counts = counts
            given.append(Counted(counts, {}))
        if self.clock.undated:
            timeless = sum(isnan(time) for rows in given if isinstance(rows, Rows) for time in rows.times)
            given += [Treated(UNDATED, timeless)] if timeless else []
        return given

    def _add_cut(self) -> None:
        """Adds the rows of the step lines reached: many at once, but before a row of another dialect behind them."""
        cut = self._cut
        if cut.added < cut.reached:
            part = slice(cut.added, cut.reached)
            cut.added = cut.reached
            verl_console.parse(cut.steps[part], cut.times[part], cut.lines[part], self._rows)
            self.came = True
