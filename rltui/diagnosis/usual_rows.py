"""Whether new rows hold anything that is not usual: if not, checks that were silent right before them stay silent."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from rltui.run.columns import Axis, Column
from rltui.run.table import Floats, Table

NEWEST = 64
"""Rows whose values are usual."""
BESIDE = 0.25
"""How far beyond them a value may lie, of the range that they have: of noise one in thousands does."""
LEAST = 8
"""Points that tell what is usual. Of a metric that is logged more seldom, as validation, each point is news."""


class _Group(Struct, frozen=True):
    """Columns that are logged in the same rows, the place of their first new point, and the bounds of what is usual."""

    axis: Axis
    columns: list[Column]
    at: int
    low: Floats
    high: Floats


class UsualRows:
    """What was usual before row number `since` of a table."""

    def __init__(self, table: Table, since: int) -> None:
        self._table, self.since = table, since
        self._columns, self._restarts = len(table.columns), len(table.restarts)
        self._groups = [self._usual(axis, [table.columns[key] for key in keys]) for axis, keys in table.axes()]

    def _usual(self, axis: Axis, columns: list[Column]) -> _Group:
        first, at = axis.place(max(0, self.since - NEWEST)), axis.place(self.since)
        if at - first < LEAST:
            return _Group(axis, columns, at, np.full(len(columns), np.inf), np.full(len(columns), -np.inf))
        values = np.array([column.values[first:at] for column in columns])
        low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
        beside = BESIDE * (high - low)
        return _Group(axis, columns, at, low - beside, high + beside)

    def lasts(self, until: int) -> bool:
        """Whether all values from there up to row number `until` are finite and usual, and no metric came anew."""
        table = self._table
        if len(table.columns) != self._columns or len(table.restarts) != self._restarts:
            return False
        return all(_usual(group, until) for group in self._groups)


def _usual(group: _Group, until: int) -> bool:
    if any(column.axis is not group.axis for column in group.columns):
        return False  # a row held only some of them
    end = group.axis.place(until)
    if end <= group.at:
        return True
    values = np.array([column.values[group.at : end] for column in group.columns]).T
    return bool(((values >= group.low) & (values <= group.high)).all())
