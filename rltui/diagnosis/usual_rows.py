"""Whether new rows hold anything that is not usual: if not, checks that were silent right before them stay silent.

It depends on the values alone, so that rows that arrive one by one and rows read at once are judged alike.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from rltui.run.columns import Axis, Column, Floats
from rltui.run.table import Table

NEWEST = 64
"""Rows whose values are usual."""
BESIDE = 0.25
"""How far beyond them a value may lie, of the range that they have: of noise one in thousands does."""
LEAST = 8
"""Points that tell what is usual. Of a metric that is logged more seldom each point is news."""


class UsualRows:
    """What was usual before row number `since` of a table. `beside`: whether a column is not looked at, by its
    key, as evaluations are few, and the last one may be logged again in each row or not."""

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
        """Whether all values from row number `first` (None: from there) up to row number `until` are finite and usual,
        no metric came anew or is missing, and the run was not resumed."""
        table, first = self._table, self.since if first is None else first
        fresh = [table.columns[key].axis for key in table.columns.keys() - self._known if not self._beside(key)]
        if any(axis.place(until) > axis.place(first) for axis in fresh):
            return False
        before, newest = int(table.steps[first - 1]) if first else -1, int(table.steps[until - 1])
        if any(before < step <= newest for step in table.restarts):
            return False
        axes = [column.axis for column in self._columns]  # a row that holds only some of the columns parts them
        if axes != self._axes:
            self._axes, self._groups = axes, [self._group(*one) for one in self._by_axis().items()]
        return all(group.usual(first, until) for group in self._groups)

    def beside_stay(self, until: int, first: int) -> bool:
        """Whether the columns that are not looked at hold, from row number `first` up to `until`, no other value than
        their last one before: one that is only logged again is no news."""
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
        """The numbers of the columns that are logged in the same rows, as they are now."""
        out: dict[Axis, list[int]] = {}
        for i, column in enumerate(self._columns):
            out.setdefault(column.axis, []).append(i)
        return out


class _Group(Struct, frozen=True, eq=False):
    """Columns that are logged in the same rows, with what is usual of each. `always`: one of them was logged in each
    row before."""

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
        if end - at == 1:  # of a run that is followed
            values = np.array([column.values[at] for column in self.columns])
        else:
            values = np.array([column.values[at:end] for column in self.columns]).T
        return bool(np.logical_and.reduce((values >= self.low) & (values <= self.high), axis=None))
