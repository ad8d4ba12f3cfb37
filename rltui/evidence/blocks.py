"""Levels, minima and maxima of whole series at a bounded cost, however long the run is.

A series is cut into at most `MOST` blocks whose size is a power of two. A full block never changes, so it is computed
once, and 100,000 rows cost as much as 200.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from rltui.run.sums import levels_of
from rltui.run.table import Floats

MOST = 256


class Blocks(Struct, frozen=True):
    """`size` values per block (the last one may hold fewer), in row order."""

    size: int
    levels: Floats
    lows: Floats
    highs: Floats


class _Full:
    """Full blocks of one size. The table has one row per block: its level, low and high; `count` of them
    are computed."""

    __slots__ = ("count", "table")

    def __init__(self) -> None:
        self.table = np.empty((MOST + 1, 3))
        self.count = 0


class BlockCache(Struct):
    """Full blocks of every series by (name, size). Valid until a row in the past changes."""

    _full: dict[tuple[str, int], _Full] = field(default_factory=dict)

    def get(self, name: str, values: Floats) -> Blocks:
        """Blocks of the points of a series, `values` being its first len(values) points."""
        n = len(values)
        size = 1
        while n > MOST * size:
            size *= 2
        if size == 1:
            return Blocks(1, values, values, values)
        full = self._full.setdefault((name, size), _Full())
        whole, rest = divmod(n, size)
        if whole > full.count:
            full.table[full.count : whole] = _summaries(values[full.count * size : whole * size].reshape(-1, size))
            full.count = whole
        table = full.table[:whole]
        if rest:
            table = full.table[: whole + 1].copy()
            table[whole] = _summaries(values[None, n - rest :])
        return Blocks(size, table[:, 0], table[:, 1], table[:, 2])

    def names(self) -> set[str]:
        return {name for name, _ in self._full}

    def forget(self, name: str, points: int) -> None:
        """Forgets all but the first `points` points of a series, the only ones that are unchanged."""
        for (held, size), full in self._full.items():
            if held == name:
                full.count = min(full.count, points // size)

    def clear(self) -> None:
        self._full.clear()


def _summaries(parts: Floats) -> Floats:
    """Level, low and high of each row."""
    out: Floats = np.stack((levels_of(parts), parts.min(axis=1), parts.max(axis=1)), axis=1)
    return out
