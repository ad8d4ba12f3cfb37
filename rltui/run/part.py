"""The table of one source of a run, with rows that are printed all at once, and where another attempt took over from
it.

A program may print many rows all at once, when it ends or once an epoch. They repeat known rows, with more or fewer
digits, and may add some. They do not begin an attempt, unless all rows of the file came this way: then a list with
other values belongs to the next launch. Otherwise a list that contradicts the rows of its steps is not added to this
run's history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
from msgspec import Struct, field

from rltui.readers.base import NO_STEP, Rows
from rltui.run.align import SAME
from rltui.run.column_set import cells_of
from rltui.run.table import OTHER_SHARE, Table

LOOKED_AT = 8
"""How many of the first rows of a file decide whether it is a later attempt."""
OTHER = "printed rows with other values than the rows of their steps"
STEPLESS = "printed rows without a step, whose values match no known row"
ROUNDED = Decimal("0.51")
"""Rounding changes a number by at most half a unit of its last digit. Floats are not exact, so a little more is
allowed."""

ZONE_S, CLOCK_S = 900.0, 2.0
"""Time zones differ by whole quarters of an hour. Two loggers of one process write a row within `CLOCK_S`."""

Cells = Mapping[str, float]


class Part(Struct):
    """The table of one source within a run. The higher `rank` wins a cell.

    `rank` is (class of the container, start in seconds since the epoch). Parts of one class with the same keys and
    other values are successive attempts. `log`: the log that the file is a piece of, if it was rotated or sharded;
    pieces of one log follow each other without a restart. `counts`: its reader counted rows instead of reading steps.
    `written`: the last write to the file, in seconds since the epoch. `one_by_one`: some rows came one by one, not
    printed all at once. `laps`: how often its steps went back, as its reader reports. `attempt`: the number of the
    launch that wrote it, 0 if unknown. `resumes`: it says before its first row that it resumes. `left_out`: reason ->
    the number of printed rows that do not count, and where the first one is. `unplaced`: how many of its records stated
    no step.
    """

    name: str
    rank: tuple[int, float]
    table: Table = field(default_factory=Table)
    counts: bool = False
    written: float = 0.0
    one_by_one: bool = False
    log: str = ""
    laps: int = 0
    attempt: int = 0
    resumes: bool = False
    left_out: dict[str, tuple[int, str]] = field(default_factory=dict)
    unplaced: int = 0
    _marked: tuple[bool, bool, int, int, dict[str, tuple[int, str]]] | None = None

    def mark(self) -> None:
        """Remembers the part as it is now, so that `go_back` can undo the rows that follow."""
        self.table.mark()
        self._marked = self.counts, self.one_by_one, self.laps, self.unplaced, dict(self.left_out)

    def go_back(self) -> None:
        """Undoes all rows added since `mark` was called."""
        if self._marked is not None:
            self.counts, self.one_by_one, self.laps, self.unplaced, self.left_out = self._marked
            self._marked = None
            self.table.go_back()

    @property
    def counted(self) -> bool:
        """Whether its steps are unknown because most of its rows were counted."""
        return self.counts or 2 * self.table.counted > self.table.n

    def at_steps(self, table: Table) -> Part:
        """The part with its rows at the known steps of `table`."""
        return Part(self.name, self.rank, table, log=self.log, attempt=self.attempt, resumes=self.resumes)


def attempts(ordered: list[Part]) -> dict[str, int]:
    """Part -> the step from which a later attempt took over. Both are of one class and share half of the keys; the
    later one begins within the earlier one or right after it, and does not just repeat it. The next piece of the same
    log, which begins right after the previous piece, is not an attempt unless it says that it resumes. If the launches
    that wrote both parts are known, their order decides."""
    ends: dict[str, int] = {}
    for i, earlier in enumerate(ordered):
        for j, later in enumerate(ordered):
            if earlier.attempt and later.attempt:
                takes_over = earlier.attempt < later.attempt
            else:
                takes_over = j > i and later.rank[0] == earlier.rank[0] and _takes_over(earlier, later)
            if takes_over:
                first = int(later.table.steps[0])
                ends[earlier.name] = min(ends.get(earlier.name, first), first)
    return ends


def _takes_over(earlier: Part, later: Part) -> bool:
    a, b = earlier.table, later.table
    shared = [key for key in b.columns if key in a.columns]
    if not later.rank[1] > earlier.rank[1] or 2 * len(shared) < min(len(a.columns), len(b.columns)):
        return False
    first, last = int(b.steps[0]), int(a.steps[-1])
    if first > last + 1:
        return False
    repeated = [row for row in (a.row_at(step) for step in b.steps[:LOOKED_AT].tolist()) if row is not None]
    if not repeated:
        return not earlier.log or earlier.log != later.log or later.resumes
    for row in repeated:
        at = b.row_at(int(a.steps[row]))
        old, new = a.cells(row), b.cells(at if at is not None else 0)
        if any(k in old and abs(old[k] - v) > SAME * max(abs(old[k]), abs(v)) for k, v in new.items()):
            return True
    return _did_the_same(a, b, [int(a.steps[row]) for row in repeated])


def _did_the_same(a: Table, b: Table, steps: Sequence[int]) -> bool:
    """Whether `b` is from a later launch that repeated the same values and went further: all its rows were written
    after the last one of `a`. A second logger with another clock would be ahead by whole quarters of an hour."""
    rows = [(a.row_at(step), b.row_at(step)) for step in steps]
    apart = [float(b.times[y] - a.times[x]) for x, y in rows if x is not None and y is not None]
    known = [late for late in apart if late == late]
    ended = a.newest_time
    if not known or ended is None or b.steps[-1] <= a.steps[-1]:
        return False
    off = [abs((late + ZONE_S / 2) % ZONE_S - ZONE_S / 2) for late in known]
    return bool(np.fmin.reduce(b.times) > ended) and max(off) > CLOCK_S


def add_printed(part: Part, rows: Rows) -> None:
    """Adds a block of rows that were printed all at once, or counts it in `part.left_out`."""
    part.table.zoned = rows.zoned
    table, cells, steps = part.table, [cells_of(rows, i) for i in range(len(rows))], list(rows.steps)
    if NO_STEP in steps:
        fitting = [found for found in _counts(part, len(rows)) if _agree(table, found, cells) is not False]
        if not fitting:
            _leave(part, STEPLESS, rows)
            return
        steps = fitting[0]
        table.counted += sum(1 for step in steps if table.row_at(step) is None)
    elif _agree(table, steps, cells) is False:
        if part.one_by_one:
            _leave(part, OTHER, rows)
        else:
            table.add(rows)  # it belongs to the next launch
        return
    head = table.head_step
    for step, time, row in zip(steps, rows.times, cells, strict=True):
        at = table.row_at(step)
        table.repeated += at is not None and _same(table.cells(at), row) is True
        table.put(step, time, row, fold=True)
    table.set_head(max(steps) if head is None else max(head, *steps))


def _counts(part: Part, n: int) -> list[list[int]]:
    """The possible steps of `n` rows without steps: those of the known rows, or 1 to n."""
    there: list[int] = part.table.steps.tolist()
    own = [] if part.one_by_one or (there and not part.counted) else [list(range(1, n + 1))]
    return [there, *own] if n == len(there) else own


def _agree(table: Table, steps: list[int], cells: Sequence[Cells]) -> bool | None:
    """Whether most rows agree with the known rows of their steps; None if no row can be compared."""
    found = [
        same
        for step, row in zip(steps, cells, strict=True)
        if (at := table.row_at(step)) is not None and (same := _same(table.cells(at), row)) is not None
    ]
    return 2 * sum(found) >= len(found) if found else None


def _same(old: Cells, new: Cells) -> bool | None:
    """Whether two rows agree, apart from rounding, in most cells that both hold; None if they share no cell."""
    both = [(old[key], x) for key, x in new.items() if key in old]
    other = sum(1 for a, b in both if not _is_rounded(a, b))
    return other < OTHER_SHARE * len(both) if both else None


def _is_rounded(a: float, b: float) -> bool:
    """Whether two numbers are the same number, written with different numbers of digits."""
    if a == b or a != a or b != b:
        return a == b or (a != a and b != b)
    one, two = Decimal(repr(a)), Decimal(repr(b))
    unit = max(number.as_tuple().exponent for number in (one, two))
    return abs(one - two) <= ROUNDED.scaleb(int(unit))


def _leave(part: Part, reason: str, rows: Rows) -> None:
    before, place = part.left_out.get(reason, (0, rows.printed))
    part.left_out[reason] = before + len(rows), place
