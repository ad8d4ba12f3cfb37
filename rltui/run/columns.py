"""Columns of a table that grow at their end. Columns that are logged together share one axis: the rows that they are
in.

Storage grows by doubling. A `Series` is a view of the filled part, never a copy, so a snapshot for the screen costs
nothing. Appending never changes what a view shows; a revision replaces the array.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LEAST = 64  # places


class Series(msgspec.Struct, frozen=True, eq=False):
    """The logged points of one metric, in step order: only rows that hold the metric.

    `values` is NaN exactly where the trainer logged NaN or an infinity. `rows` are row numbers in the table, `times`
    are seconds since the epoch (NaN if unknown). All four have equal length. `all_finite`: known to hold no NaN.
    `finite_points`: the points that are not NaN, if they were already selected.
    """

    key: str
    steps: Ints
    values: Floats
    rows: Ints
    times: Floats
    all_finite: bool = False
    finite_points: Series | None = None

    def __len__(self) -> int:
        return len(self.steps)

    def until_row(self, n: int) -> Series:
        """The points in the first `n` rows of the table: what was known then."""
        rows = self.rows
        count = len(rows)
        if not count or rows.item(count - 1) < n:  # quicker than an index, and called thirty times a row
            return self
        whole = 0 < n <= count and rows.item(n - 1) == n - 1  # each row holds the metric
        end = n if whole else int(rows.searchsorted(n))
        if self.finite_points is not None:
            return self._cut(0, end)
        return Series(self.key, self.steps[:end], self.values[:end], rows[:end], self.times[:end], self.all_finite)

    def since_row(self, n: int) -> Series:
        """The points from row `n` on."""
        start = int(self.rows.searchsorted(n))
        return self if start == 0 else self._cut(start, len(self.rows))

    def finite(self) -> Series:
        """The series without the points that were logged as NaN or infinite."""
        if self.all_finite:
            return self
        if self.finite_points is not None:
            return self.finite_points
        keep = np.isfinite(self.values)
        if keep.all():
            return Series(self.key, self.steps, self.values, self.rows, self.times, True)
        return Series(self.key, self.steps[keep], self.values[keep], self.rows[keep], self.times[keep], True)

    def where(self, keep: NDArray[np.bool_]) -> Series:
        """The points at which `keep` is true."""
        return Series(self.key, self.steps[keep], self.values[keep], self.rows[keep], self.times[keep])

    def _cut(self, start: int, end: int) -> Series:
        at, known = slice(start, end), self.finite_points
        if known is not None:
            first, last = (int(self.rows[start]), int(self.rows[end - 1])) if start < end else (0, -1)
            known = known.until_row(last + 1).since_row(first)
        return Series(self.key, self.steps[at], self.values[at], self.rows[at], self.times[at], self.all_finite, known)


def with_room(array: NDArray, count: int, needed: int) -> NDArray:  # type: ignore[type-arg]
    """An array of at least `needed` places, whose first `count` values are those of `array`."""
    if needed <= len(array):
        return array
    bigger = np.empty(max(needed, 2 * len(array), _LEAST), dtype=array.dtype)
    bigger[:count] = array[:count]
    return bigger


def room_for(columns: int, count: int) -> Floats:
    """Room for new columns (columns by rows), for `count` values each and a few more."""
    return np.empty((columns, max(count, _LEAST)), dtype=np.float64)


class Axis:
    """The rows that a group of columns is in, with the step and time of each row. `members`: how many columns use
    it."""

    __slots__ = ("_cut", "_whole", "count", "members", "rows", "steps", "times")

    def __init__(self, rows: Ints, steps: Ints, times: Floats) -> None:
        self.rows, self.steps, self.times = rows, steps, times
        self.count = len(rows)
        self.members = 0
        self._whole = self._cut = rows, steps, times  # what `filled` returned last, and from which arrays

    def filled(self) -> tuple[Ints, Ints, Floats]:
        """Views of rows, steps and times without unused room. They are the same objects until something is added."""
        n, whole, cut = self.count, self._whole, self._cut
        same = whole[0] is self.rows and whole[1] is self.steps and whole[2] is self.times
        if not same or len(cut[0]) != n:
            self._whole = self.rows, self.steps, self.times
            cut = self._cut = self.rows[:n], self.steps[:n], self.times[:n]
        return cut

    @classmethod
    def empty(cls) -> Axis:
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))

    def copy(self) -> Axis:
        n = self.count
        return Axis(self.rows[:n].copy(), self.steps[:n].copy(), self.times[:n].copy())

    def extend(self, rows: Ints, steps: Ints, times: Floats) -> None:
        n, end = self.count, self.count + len(rows)
        self.rows, self.steps = with_room(self.rows, n, end), with_room(self.steps, n, end)
        self.times = with_room(self.times, n, end)
        self.rows[n:end], self.steps[n:end], self.times[n:end] = rows, steps, times
        self.count = end

    def append(self, row: int, step: int, time: float) -> None:
        n = self.count
        if n == len(self.rows) or n == len(self.steps) or n == len(self.times):
            self.rows, self.steps = with_room(self.rows, n, n + 1), with_room(self.steps, n, n + 1)
            self.times = with_room(self.times, n, n + 1)
        self.rows[n], self.steps[n], self.times[n] = row, step, time
        self.count = n + 1

    def insert(self, place: int, row: int, step: int, time: float) -> None:
        """Puts a point before the one at `place`."""
        n = self.count
        self.rows = np.insert(self.rows[:n], place, row)
        self.steps = np.insert(self.steps[:n], place, step)
        self.times = np.insert(self.times[:n], place, time)
        self.count = n + 1

    def cut(self, n: int) -> None:
        """Forgets all but the first `n` points."""
        self.rows, self.steps, self.times = self.rows[:n].copy(), self.steps[:n].copy(), self.times[:n].copy()
        self.count = n

    def last_row(self) -> int:
        return int(self.rows[self.count - 1]) if self.count else -1

    def place(self, row: int) -> int:
        """The place of `row` among the points, or the place where it would be inserted."""
        return self.count if row > self.last_row() else int(self.rows[: self.count].searchsorted(row))

    def holds(self, row: int, place: int) -> bool:
        return place < self.count and bool(self.rows[place] == row)


class Column:
    """The values of one metric at the rows of its axis. NaN: logged as NaN or an infinity."""

    __slots__ = ("_finite", "_shown", "all_finite", "axis", "values")

    def __init__(self, axis: Axis, values: Floats, all_finite: bool = True) -> None:
        self.axis = axis
        self.values = values
        self.all_finite = all_finite
        self._shown: tuple[object, Floats, Series] | None = None
        self._finite: _Picked | None = None
        axis.members += 1

    def series(self, key: str) -> Series:
        """The points under this name. It is the same object until something is added or revised."""
        filled, shown = self.axis.filled(), self._shown
        if shown is None or shown[0] is not filled or shown[1] is not self.values or shown[2].key != key:
            rows, steps, times = filled
            values, finite = self.values[: len(rows)], None
            if not self.all_finite:
                if self._finite is None or not self._finite.fits(self):
                    self._finite = _Picked(self)
                finite = self._finite.series(key, self)
            found = Series(key, steps, values, rows, times, self.all_finite, finite)
            self._shown = shown = filled, self.values, found
        return shown[2]

    def move(self, axis: Axis) -> None:
        self.axis.members -= 1
        self.axis = axis
        axis.members += 1


class _Picked:
    """The finite points of a column that also holds NaN. If the column has grown, only new points are examined."""

    __slots__ = ("axis", "of", "seen", "values")

    def __init__(self, column: Column) -> None:
        self.of = column.values, column.axis.rows, column.axis.steps, column.axis.times
        self.axis = Axis.empty()
        self.values: Floats = np.empty(0, dtype=np.float64)
        self.seen = 0

    def fits(self, column: Column) -> bool:
        """Whether the column has only been appended to since then."""
        axis = column.axis
        return all(a is b for a, b in zip(self.of, (column.values, axis.rows, axis.steps, axis.times), strict=True))

    def series(self, key: str, column: Column) -> Series:
        rows, steps, times = column.axis.filled()
        fresh = slice(self.seen, len(rows))
        picked = np.isfinite(column.values[fresh])
        held = self.axis.count
        self.axis.extend(rows[fresh][picked], steps[fresh][picked], times[fresh][picked])
        self.values = with_room(self.values, held, self.axis.count)
        self.values[held : self.axis.count] = column.values[fresh][picked]
        self.seen = len(rows)
        rows, steps, times = self.axis.filled()
        return Series(key, steps, self.values[: len(rows)], rows, times, True)
