"""The history of one run: columns over rows, one row a training step, missing cells told from logged NaN.

Storage is numpy columns that grow by doubling. A `Series` is a view on the filled part, never a copy, so that a
snapshot for the screen costs nothing. Appending never touches what a view shows; a late revision replaces the column.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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

    def finite(self) -> Series:
        """Without the points that were logged as NaN or infinite."""
        keep = np.isfinite(self.values)
        if keep.all():
            return self
        return Series(self.key, self.steps[keep], self.values[keep], self.rows[keep], self.times[keep])


class Column:
    """One metric over all rows of a table. NaN = nothing finite here; `nonfinite` = rows where NaN/inf was logged."""

    __slots__ = ("data", "nonfinite")

    def __init__(self, capacity: int) -> None:
        self.data: Floats = np.full(capacity, np.nan)
        self.nonfinite: set[int] = set()

    def grow(self, capacity: int) -> None:
        bigger: Floats = np.full(capacity, np.nan)
        bigger[: len(self.data)] = self.data
        self.data = bigger


class Table:
    """Rows in increasing step order. A second row of the same step is folded into the first, cell by cell."""

    def __init__(self) -> None:
        self.n = 0
        self.restarts: list[int] = []
        self.changed_from: int | None = None  # earliest row revised since the last `take_changed`
        self._capacity = 64
        self._steps: Ints = np.zeros(self._capacity, dtype=np.int64)
        self._times: Floats = np.full(self._capacity, np.nan)
        self.columns: dict[str, Column] = {}
        self._head = -1  # row of the newest record: after a restart it lies before the end

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
        column = self.columns.get(key)
        if column is None:
            return None
        data = column.data[: self.n]
        present = ~np.isnan(data)
        if column.nonfinite:
            present[[r for r in column.nonfinite if r < self.n]] = True
        if present.all():
            rows: Ints = np.arange(self.n, dtype=np.int64)
            return Series(key, self.steps, data, rows, self.times)
        rows = np.flatnonzero(present)
        return Series(key, self.steps[rows], data[rows], rows, self.times[rows])

    def row_at(self, step: int) -> int | None:
        """Row number of a step, None where the step has no row."""
        i = int(np.searchsorted(self.steps, step))
        return i if i < self.n and self._steps[i] == step else None

    def cells(self, row: int) -> dict[str, float]:
        """The logged cells of a row; NaN where NaN or an infinity was logged."""
        out = {}
        for key, column in self.columns.items():
            value = float(column.data[row])
            if value == value or row in column.nonfinite:
                out[key] = value
        return out

    def take_changed(self) -> int | None:
        """The earliest row revised since the last call, then forgets it."""
        changed, self.changed_from = self.changed_from, None
        return changed

    # -- writing -------------------------------------------------------------------------------------------------

    def add(self, rows: Rows, offset: int = 0) -> None:
        """Adds a block in file order. Steps of `NO_STEP` take the next step after the last one."""
        count = len(rows)
        if not count:
            return
        steps: Ints = np.array(rows.steps, dtype=np.int64)
        unstated = steps == NO_STEP
        if unstated.any():
            steps = self._number(steps, unstated)
        steps = steps + offset
        last = int(self._steps[self.n - 1]) if self.n else None
        rising = bool((np.diff(steps) > 0).all()) and (last is None or int(steps[0]) > last)
        if rising:
            self._extend(steps, rows)
        else:
            for i, step in enumerate(steps.tolist()):
                cells = {k: v[i] for k, v in rows.values.items() if v[i] == v[i]}
                for key, bad in rows.nonfinite.items():
                    if i in bad:
                        cells[key] = float("nan")
                self.put(step, rows.times[i], cells)

    def _number(self, steps: Ints, unstated: NDArray[np.bool_]) -> Ints:
        step = int(self._steps[self._head]) if self._head >= 0 else 0
        out = steps.copy()
        for i in range(len(out)):
            if unstated[i]:
                step += 1
                out[i] = step
            else:
                step = int(out[i])
        return out

    def _reserve(self, n: int) -> None:
        if n <= self._capacity:
            return
        while self._capacity < n:
            self._capacity *= 2
        steps = np.zeros(self._capacity, dtype=np.int64)
        steps[: self.n] = self._steps[: self.n]
        times: Floats = np.full(self._capacity, np.nan)
        times[: self.n] = self._times[: self.n]
        self._steps, self._times = steps, times
        for column in self.columns.values():
            column.grow(self._capacity)

    def _column(self, key: str) -> Column:
        column = self.columns.get(key)
        if column is None:
            column = self.columns[key] = Column(self._capacity)
        return column

    def _extend(self, steps: Ints, rows: Rows) -> None:
        start, end = self.n, self.n + len(steps)
        self._reserve(end)
        self._steps[start:end] = steps
        self._times[start:end] = np.frombuffer(rows.times, dtype=np.float64) if len(rows.times) else np.nan
        for key, values in rows.values.items():
            column = self._column(key)
            column.data[start:end] = np.frombuffer(values, dtype=np.float64)
            bad = rows.nonfinite.get(key)
            if bad:
                column.nonfinite.update(start + i for i in bad)
        for key, bad in rows.nonfinite.items():
            if key not in rows.values:
                self._column(key).nonfinite.update(start + i for i in bad)
        self.n = end
        self._head = end - 1

    def put(self, step: int, time: float, cells: Mapping[str, float]) -> None:
        """One row. NaN or an infinity in `cells` means that it was logged so; absent keys are missing.

        A step at or before the newest one that brings other values for keys already there is a restart when it goes
        back, a revision when it repeats the newest step; either way the later value wins.
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
            if row >= self.n or self._steps[row] != step:
                self._insert(row, step, time)
                self._mark(row)
            elif self._differs(row, cells):
                if step < int(self._steps[self._head]) and (not self.restarts or self.restarts[-1] != step):
                    self.restarts.append(step)
                self._mark(row)
            elif any(key not in self.columns or np.isnan(self.columns[key].data[row]) for key in cells):
                self._mark(row)
            if time == time:
                self._times[row] = time
        self._head = row
        for key, value in cells.items():
            column = self._column(key)
            if row < self.n - 1:
                column.data = column.data.copy()  # a view handed out before keeps what it showed
            if isfinite(value):
                column.data[row] = value
                column.nonfinite.discard(row)
            else:
                column.data[row] = np.nan
                column.nonfinite.add(row)

    def _differs(self, row: int, cells: Mapping[str, float]) -> bool:
        for key, value in cells.items():
            column = self.columns.get(key)
            if column is not None:
                old = column.data[row]
                if old == old and value == value and abs(old - value) > 1e-12 + 1e-6 * abs(old):
                    return True
        return False

    def _mark(self, row: int) -> None:
        self.changed_from = row if self.changed_from is None else min(self.changed_from, row)

    def _insert(self, row: int, step: int, time: float) -> None:
        self._reserve(self.n + 1)
        self._steps = np.insert(self._steps[: self.n], row, step)
        self._steps.resize(self._capacity, refcheck=False)
        times = np.full(self._capacity, np.nan)
        times[: self.n + 1] = np.insert(self._times[: self.n], row, time)
        self._times = times
        for column in self.columns.values():
            data: Floats = np.full(self._capacity, np.nan)
            data[: self.n + 1] = np.insert(column.data[: self.n], row, np.nan)
            column.data = data
            if column.nonfinite:
                column.nonfinite = {r + 1 if r >= row else r for r in column.nonfinite}
        self.n += 1


@dataclass(slots=True)
class Part:
    """The table of one source within a run. A higher `rank` wins a cell; among equals the later part wins."""

    name: str
    rank: tuple[int, float]
    table: Table
    merged_rows: int = 0


@dataclass(slots=True)
class History:
    """One run's rows from all its sources: per step and key the value of the best source, gaps filled by the rest."""

    parts: list[Part] = field(default_factory=list)
    _merged: Table | None = None

    @property
    def table(self) -> Table:
        """The merged rows. With one source that holds rows, its own table (no copy)."""
        filled = [p for p in self.parts if p.table.n]
        if len(filled) == 1:
            return filled[0].table
        if self._merged is None:
            self._merged = self._merge(filled)
        return self._merged

    def touch(self) -> None:
        """Rows were added to a part: the merged table is built anew at its next use."""
        self._merged = None

    def _merge(self, parts: Iterable[Part]) -> Table:
        ordered = sorted(parts, key=lambda p: p.rank)
        out = Table()
        if not ordered:
            return out
        steps = np.unique(np.concatenate([p.table.steps for p in ordered]))
        n = len(steps)
        out._reserve(n)
        out._steps[:n] = steps
        out.n = n
        for part in ordered:
            table = part.table
            at = np.searchsorted(steps, table.steps)
            known = ~np.isnan(table.times)
            out._times[at[known]] = table.times[known]
            for key, column in table.columns.items():
                data = column.data[: table.n]
                filled = ~np.isnan(data)
                target = out._column(key)
                target.data[at[filled]] = data[filled]
                target.nonfinite.difference_update(at[filled].tolist())
                if column.nonfinite:
                    bad = at[sorted(r for r in column.nonfinite if r < table.n)]
                    target.data[bad] = np.nan
                    target.nonfinite.update(bad.tolist())
        out.restarts = sorted({s for p in ordered for s in p.table.restarts})
        heads = [p.table.head_step for p in ordered if p.table.head_step is not None]
        out._head = bisect_left(steps.tolist(), max(heads)) if heads else n - 1
        return out
