"""Rows of one source as columns: one row a training step, missing cells told from logged NaN.

Storage is numpy columns that grow by doubling. A `Series` is a view on the filled part, never a copy, so that a
snapshot for the screen costs nothing. Appending never touches what a view shows; a late revision replaces the column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from rltui.readers.base import NO_STEP, Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Series:
    """The logged points of one metric, in step order: only rows that hold the metric.

    `values` is NaN exactly where the trainer logged NaN or an infinity. `rows` are row numbers in the table, `times`
    seconds since the epoch (NaN unknown). All four have equal length.
    """

    key: str
    steps: Ints
    values: Floats
    rows: Ints
    times: Floats

    def __len__(self) -> int:
        return len(self.steps)

    def until_row(self, n: int) -> Series:
        """The points in the first `n` rows of the table: what was known then."""
        end = int(np.searchsorted(self.rows, n))
        if end == len(self.rows):
            return self
        return Series(self.key, self.steps[:end], self.values[:end], self.rows[:end], self.times[:end])

    def since_row(self, n: int) -> Series:
        """The points from row `n` on."""
        start = int(np.searchsorted(self.rows, n))
        if start == 0:
            return self
        return Series(self.key, self.steps[start:], self.values[start:], self.rows[start:], self.times[start:])

    def finite(self) -> Series:
        """Without the points that were logged as NaN or infinite."""
        keep = np.isfinite(self.values)
        if keep.all():
            return self
        return Series(self.key, self.steps[keep], self.values[keep], self.rows[keep], self.times[keep])


class Column:
    """One metric over all rows of a table. NaN = nothing finite here; `nonfinite` = rows where NaN/inf was logged.

    `present` lists the rows that hold the metric, so that a sparse metric (validation) is not searched for anew.
    """

    __slots__ = ("_present", "count", "data", "nonfinite")

    def __init__(self, capacity: int) -> None:
        self.data: Floats = np.full(capacity, np.nan)
        self.nonfinite: set[int] = set()
        self.count = 0  # rows that hold the metric
        self._present: list[int] | None = []

    def grow(self, capacity: int) -> None:
        bigger: Floats = np.full(capacity, np.nan)
        bigger[: len(self.data)] = self.data
        self.data = bigger

    def holds(self, row: int) -> bool:
        return bool(self.data[row] == self.data[row]) or row in self.nonfinite

    def set(self, row: int, value: float) -> None:
        if not self.holds(row):
            self.count += 1
            if self._present is not None:
                if self._present and row < self._present[-1]:
                    self._present = None
                else:
                    self._present.append(row)
        if isfinite(value):
            self.data[row] = value
            self.nonfinite.discard(row)
        else:
            self.data[row] = np.nan
            self.nonfinite.add(row)

    def extend(self, start: int, values: Floats, bad: list[int] | None) -> None:
        """Rows `start`.. take `values`; `bad` are offsets into `values` that were logged as NaN or infinite."""
        self.data[start : start + len(values)] = values
        self.data[start : start + len(values)][~np.isfinite(values)] = np.nan
        if bad:
            self.nonfinite.update(start + i for i in bad)
        held = np.isfinite(values)
        if bad:
            held[bad] = True
        rows = np.flatnonzero(held)
        self.count += len(rows)
        if self._present is not None and self.count != start + len(values):
            self._present.extend((rows + start).tolist())
        elif self.count == start + len(values):
            self._present = None  # every row so far: no list needed

    def shifted(self, row: int, n: int, capacity: int) -> None:
        """Makes room for a new row before `row`."""
        data: Floats = np.full(capacity, np.nan)
        data[:row] = self.data[:row]
        data[row + 1 : n + 1] = self.data[row:n]
        self.data = data
        self.nonfinite = {r + 1 if r >= row else r for r in self.nonfinite}
        self._present = None

    def rows(self, n: int) -> Ints | None:
        """Rows among the first `n` that hold the metric, None when all of them do."""
        if self.count == n:
            return None
        if self._present is None or len(self._present) != self.count:
            held = np.isfinite(self.data[:n])
            if self.nonfinite:
                held[[r for r in self.nonfinite if r < n]] = True
            self._present = np.flatnonzero(held).tolist()
        return np.array(self._present, dtype=np.int64)


class Table:
    """Rows in increasing step order. A second row of the same step is folded into the first, cell by cell."""

    def __init__(self) -> None:
        self.n = 0
        self.restarts: list[int] = []
        self.columns: dict[str, Column] = {}
        self._changed_from: int | None = None
        self._capacity = 64
        self._steps: Ints = np.zeros(self._capacity, dtype=np.int64)
        self._times: Floats = np.full(self._capacity, np.nan)
        self._index: Ints = np.arange(self._capacity, dtype=np.int64)
        self._head = -1  # row of the newest record: after a restart it lies before the end
        self._cache: dict[str, tuple[int, int, Series]] = {}
        self._revision = 0

    # -- reading -------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> Ints:
        return self._steps[: self.n]

    @property
    def times(self) -> Floats:
        return self._times[: self.n]

    @property
    def head_step(self) -> int | None:
        """Step of the newest record; after a restart smaller than the largest step seen."""
        return int(self._steps[self._head]) if self._head >= 0 else None

    def series(self, key: str) -> Series | None:
        """The points of a column; None for a key never seen."""
        column = self.columns.get(key)
        if column is None:
            return None
        cached = self._cache.get(key)
        if cached is not None and cached[0] == self.n and cached[1] == self._revision:
            return cached[2]
        rows = column.rows(self.n)
        if rows is None:
            out = Series(key, self.steps, column.data[: self.n], self._index[: self.n], self.times)
        else:
            out = Series(key, self._steps[rows], column.data[rows], rows, self._times[rows])
        self._cache[key] = (self.n, self._revision, out)
        return out

    def row_at(self, step: int) -> int | None:
        """Row number of a step, None where the step has no row."""
        i = int(np.searchsorted(self.steps, step))
        return i if i < self.n and self._steps[i] == step else None

    def cells(self, row: int) -> dict[str, float]:
        """The logged cells of a row; NaN where NaN or an infinity was logged."""
        return {key: float(column.data[row]) for key, column in self.columns.items() if column.holds(row)}

    def take_changed(self) -> int | None:
        """The earliest already shown row that was revised since the last call, then forgets it."""
        changed, self._changed_from = self._changed_from, None
        return changed

    # -- writing -------------------------------------------------------------------------------------------------

    def add(self, rows: Rows) -> None:
        """Adds a block in file order. Rows of `NO_STEP` take the step after the newest record's."""
        if not len(rows):
            return
        steps: Ints = np.frombuffer(rows.steps, dtype=np.int64)
        if (steps == NO_STEP).any():
            steps = self._numbered(steps)
        last = int(self._steps[self.n - 1]) if self.n else None
        if bool((np.diff(steps) > 0).all()) and (last is None or int(steps[0]) > last):
            self._extend(steps, rows)
            return
        bad = {key: set(where) for key, where in rows.nonfinite.items()}
        for i, step in enumerate(steps.tolist()):
            cells = {k: v[i] for k, v in rows.values.items() if v[i] == v[i]}
            cells.update({key: float("nan") for key, where in bad.items() if i in where})
            self.put(step, rows.times[i], cells)

    def _numbered(self, steps: Ints) -> Ints:
        step = self.head_step or 0
        out = steps.copy()
        for i, stated in enumerate(steps.tolist()):
            step = step + 1 if stated == NO_STEP else stated
            out[i] = step
        return out

    def _extend(self, steps: Ints, rows: Rows) -> None:
        start, end = self.n, self.n + len(steps)
        self._reserve(end)
        self._steps[start:end] = steps
        self._times[start:end] = np.frombuffer(rows.times, dtype=np.float64)
        for key, values in rows.values.items():
            self._column(key).extend(start, np.frombuffer(values, dtype=np.float64), rows.nonfinite.get(key))
        self.n = end
        self._head = end - 1

    def put(self, step: int, time: float, cells: Mapping[str, float], fold: bool = False) -> None:
        """One row. NaN or an infinity in `cells` means that it was logged so; absent keys are missing.

        A row that goes back to an earlier step with other values for keys already there is a restart, unless it is
        only folded in from another source; in any case the later value wins and keys of both are kept.
        """
        last = int(self._steps[self.n - 1]) if self.n else None
        if last is None or step > last:
            row = self.n
            self._reserve(row + 1)
            self._steps[row] = step
            self._times[row] = time
            self.n += 1
        else:
            row = int(np.searchsorted(self.steps, step))
            if self._steps[row] != step:
                self._insert(row, step, time)
            elif not fold and step < (self.head_step or 0) and self._differs(row, cells):
                self.restarts.append(step)
            self._mark(row)
            if time == time and self._times[row] != time:
                self._times = self._times.copy()
                self._times[row] = time
        self._head = row
        for key, value in cells.items():
            column = self._column(key)
            if row < self.n - 1 or column.holds(row):
                column.data = column.data.copy()  # a view handed out before keeps what it showed
            column.set(row, value)

    def load(self, steps: Ints, times: Floats, values: Mapping[str, Floats], bad: Mapping[str, list[int]]) -> None:
        """Fills an empty table with rising steps and whole columns (NaN = missing, unless its row stands in `bad`)."""
        self._reserve(len(steps))
        self._steps[: len(steps)] = steps
        self._times[: len(steps)] = times
        for key, column in values.items():
            self._column(key).extend(0, column, bad.get(key))
        self.n = len(steps)
        self._head = self.n - 1

    def set_head(self, step: int) -> None:
        """Names the step of the newest record."""
        self._head = min(int(np.searchsorted(self.steps, step)), self.n - 1)

    def restart_at(self, step: int) -> None:
        """A new attempt begins at `step` (the file was truncated, a new file began): later rows are abandoned."""
        row = int(np.searchsorted(self.steps, step))
        if row < self.n:
            if row:
                self.restarts.append(step)
            self.keep(row)

    def keep(self, n: int) -> None:
        """Forgets all rows from row `n` on."""
        old, self.n = self.n, n
        for column in self.columns.values():
            column.data = column.data.copy()
            column.data[n:old] = np.nan
            column.nonfinite = {r for r in column.nonfinite if r < n}
            column.count = int(np.isfinite(column.data[:n]).sum()) + len(column.nonfinite)
            column._present = None
        self.columns = {k: c for k, c in self.columns.items() if c.count}
        self._head = n - 1
        self._mark(n)

    def rename(self, name: Callable[[str], str]) -> None:
        """Renames columns; where two meet, the cells of the later one win."""
        columns, self.columns, self._cache = self.columns, {}, {}
        for key, column in columns.items():
            new = name(key)
            if new not in self.columns:
                self.columns[new] = column
                continue
            target = self.columns[new]
            rows = column.rows(self.n)
            for row in range(self.n) if rows is None else rows.tolist():
                target.set(row, float(column.data[row]))

    def _differs(self, row: int, cells: Mapping[str, float]) -> bool:
        for key, value in cells.items():
            column = self.columns.get(key)
            if column is not None:
                old = float(column.data[row])
                if old == old and value == value and abs(old - value) > 1e-12 + 1e-6 * abs(old):
                    return True
        return False

    def _mark(self, row: int) -> None:
        self._revision += 1
        self._changed_from = row if self._changed_from is None else min(self._changed_from, row)

    def _column(self, key: str) -> Column:
        column = self.columns.get(key)
        if column is None:
            column = self.columns[key] = Column(self._capacity)
        return column

    def _reserve(self, n: int) -> None:
        if n <= self._capacity:
            return
        while self._capacity < n:
            self._capacity *= 2
        steps = np.zeros(self._capacity, dtype=np.int64)
        steps[: self.n] = self.steps
        times: Floats = np.full(self._capacity, np.nan)
        times[: self.n] = self.times
        self._steps, self._times = steps, times
        self._index = np.arange(self._capacity, dtype=np.int64)
        for column in self.columns.values():
            column.grow(self._capacity)

    def _insert(self, row: int, step: int, time: float) -> None:
        self._reserve(self.n + 1)
        steps, times = np.zeros(self._capacity, dtype=np.int64), np.full(self._capacity, np.nan)
        steps[: self.n + 1] = np.insert(self.steps, row, step)
        times[: self.n + 1] = np.insert(self.times, row, time)
        self._steps, self._times = steps, times
        for column in self.columns.values():
            column.shifted(row, self.n, self._capacity)
        self.n += 1
