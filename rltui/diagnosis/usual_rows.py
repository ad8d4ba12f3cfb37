"""Finds out whether new rows hold anything unusual. If not, checks that were silent right before them stay silent.

The answer depends on the values alone, so rows that arrive one by one and rows read at once are judged alike.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from rltui.run.columns import Axis, Column, Floats
from rltui.run.table import Table

NEWEST = 64
"""The number of newest rows whose values count as usual."""
BESIDE = 0.25
"""How far beyond them a value may lie, as a share of their range. One noise value in thousands lies farther out."""
LEAST = 8
"""The fewest points that show what is usual. If a metric is logged more rarely, each of its points is news."""


class UsualRows:
    """What was usual before row number `since` of a table. `beside`: whether a column is left out, by its key.
    Evaluations are, because they are few and the last one may or may not be logged again in each row."""

    def __init__(self, table: Table, since: int, beside: Callable[[str], bool] = lambda _: False) -> None:
        self._table, self.since, self._beside = table, since, beside
        self._known = frozenset(table.columns)
        self._columns, self._aside = list[Column](), list[Column]()
        for key, column in table.columns.items():
            (self._aside if beside(key) else self._columns).append(column)
        count, begin = len(self._columns), max(0, since - NEWEST)
        self._low, self._high = np.full(count, np.inf), np.full(count, -np.inf)
        self._always = np.zeros(count, dtype=np.bool_)  # logged in each of the rows
        self._axes, self._groups = list[Axis](), list[_Group]()
        for axis, which in self._by_axis().items():
            first, at = axis.place(begin), axis.place(since)
            self._always[which] = at - first == since - begin
            if at - first < LEAST:
                continue
            values = np.array([self._columns[i].values[first:at] for i in which])
            low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
            margin = BESIDE * (high - low)
            self._low[which], self._high[which] = low - margin, high + margin

    def lasts(self, until: int, first: int | None = None) -> bool:
        """Whether all values from row number `first` (None: `since`) up to row number `until` are finite and usual, no
        metric is new or missing, and the run was not resumed."""
        table, first = self._table, self.since if first is None else first
        fresh = [table.columns[key].axis for key in table.columns.keys() - self._known if not self._beside(key)]
        if any(axis.place(until) > axis.place(first) for axis in fresh):
            return False
        before, newest = int(table.steps[first - 1]) if first else -1, int(table.steps[until - 1])
        if any(before < step <= newest for step in table.restarts):
            return False
        axes = [column.axis for column in self._columns]  # a row with only some of the columns splits a group
        if axes != self._axes:
            self._axes, self._groups = axes, [self._group(*one) for one in self._by_axis().items()]
        return all(group.usual(first, until) for group in self._groups)

    def beside_stay(self, until: int, first: int) -> bool:
        """Whether the columns that are left out keep their last value from row number `first` up to `until`. A value
        that is only logged again is not news."""
        columns = self._table.columns
        fresh = [columns[key] for key in columns.keys() - self._known if self._beside(key)]
        for column in (*self._aside, *fresh):
            at, end = column.axis.place(first), column.axis.place(until)
            if end > at and (not at or bool((column.values[at:end] != column.values[at - 1]).any())):
                return False
        return True

    def _group(self, axis: Axis, which: list[int]) -> _Group:
        columns = [self._columns[i] for i in which]
        return _Group(axis, columns, self._low[which], self._high[which], bool(self._always[which].any()))

    def _by_axis(self) -> dict[Axis, list[int]]:
        """The numbers of the columns, grouped by the rows in which they are logged, as they are now."""
        out: dict[Axis, list[int]] = {}
        for i, column in enumerate(self._columns):
            out.setdefault(column.axis, []).append(i)
        return out


class _Group(Struct, frozen=True, eq=False):
    """Columns that are logged in the same rows, with the usual range of each. `always`: at least one of them was logged
    in every row before."""

    axis: Axis
    columns: list[Column]
    low: Floats
    high: Floats
    always: bool

    def usual(self, first: int, until: int) -> bool:
        at, end = self.axis.place(first), self.axis.place(until)
        if end - at < until - first and self.always:
            return False
        if end <= at:
            return True
        if end - at == 1:  # the usual case while a run is followed
            values = np.array([column.values[at] for column in self.columns])
        else:
            values = np.array([column.values[at:end] for column in self.columns]).T
        return bool(np.logical_and.reduce((values >= self.low) & (values <= self.high), axis=None))
