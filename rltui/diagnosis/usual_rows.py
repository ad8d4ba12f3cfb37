"""Whether new rows hold anything that is not usual: if not, checks that were silent right before them stay silent.

It depends on the values alone, so that rows that arrive one by one and rows read at once are judged alike.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rltui.run.columns import Axis, Column
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
        self._axes, self._parted = list[Axis](), dict[Axis, list[int]]()
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
        return all(self._usual(axis, which, first, until) for axis, which in self._by_axis().items())

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

    def _usual(self, axis: Axis, which: list[int], first: int, until: int) -> bool:
        at, end = axis.place(first), axis.place(until)
        if end - at < until - first and bool(self._always[which].any()):
            return False
        if end <= at:
            return True
        if end - at == 1:  # of a run that is followed
            values = np.array([self._columns[i].values[at] for i in which])
        else:
            values = np.array([self._columns[i].values[at:end] for i in which]).T
        return bool(((values >= self._low[which]) & (values <= self._high[which])).all())

    def _by_axis(self) -> dict[Axis, list[int]]:
        """The numbers of the columns that are logged in the same rows, as they are now: a row that holds only some of
        them parts them."""
        axes = [column.axis for column in self._columns]
        if axes != self._axes:
            self._axes, self._parted = axes, {}
            for i, axis in enumerate(axes):
                self._parted.setdefault(axis, []).append(i)
        return self._parted
