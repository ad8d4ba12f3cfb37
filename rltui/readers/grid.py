"""Cells that came in bulk, as a grid of columns by rows, to `Rows`."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from rltui.readers.base import Rows
from rltui.readers.key_table import KeyTable
from rltui.text import clean_key

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_CELLS = 1 << 22
"""Columns times rows of one grid; a batch that would need more is cut."""


class Grid:
    """The columns of one file: raw keys as they come, their clean names, and rows built from a filled grid."""

    def __init__(self) -> None:
        self.table = KeyTable()
        self.names: list[str] = []
        self.by_name: dict[str, int] = {}
        self._columns: list[int] = []  # of each number in the table: two raw keys may have one clean name

    def columns(self, keys: Ints) -> Ints:
        """The columns of key numbers."""
        for key in self.table.keys[len(self._columns) :]:
            name = clean_key(key.decode("utf-8", "replace"))
            column = self.by_name.get(name)
            if column is None:
                column = self.by_name[name] = len(self.names)
                self.names.append(name)
            self._columns.append(column)
        known: Ints = np.array(self._columns, dtype=np.int64)
        return known[keys]

    def rows(self, grid: Floats, steps: Ints, times: Floats) -> Rows:
        """Rows of a grid (columns by rows): NaN is a missing cell, an infinity one that was logged as not finite."""
        rows = Rows()
        rows.steps.frombytes(steps.tobytes())
        rows.times.frombytes(times.tobytes())
        infinite = np.isinf(grid)
        unfit = set(np.flatnonzero(infinite.any(axis=1)).tolist())
        for column in np.flatnonzero(~np.isnan(grid).all(axis=1)).tolist():
            values = grid[column]
            if column in unfit:
                values[infinite[column]] = np.nan
                rows.nonfinite[self.names[column]] = np.flatnonzero(infinite[column]).tolist()
            filled = array("d")
            filled.frombytes(values.tobytes())
            rows.values[self.names[column]] = filled
        return rows
