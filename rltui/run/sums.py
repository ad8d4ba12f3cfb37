"""Levels, medians, quantiles and spreads of arrays, and sums and extremes of columns that grow at their end."""

from __future__ import annotations

from math import isfinite, nan, sqrt
from threading import Lock

import numpy as np
from msgspec import Struct, field

from rltui.run.columns import Floats


def median(x: Floats) -> float:
    """The median; NaN for an empty array or one with a NaN. It has its own code because it is called most often."""
    n = len(x)
    if n == 0:
        return nan
    ordered = x.copy()
    ordered.sort()
    high = float(ordered[n // 2])
    if ordered[-1] != ordered[-1]:
        return nan
    if n % 2:
        return high
    return _middle(float(ordered[n // 2 - 1]), high)


def _middle(low: float, high: float) -> float:
    middle = low + 0.5 * (high - low)
    return middle if isfinite(middle) else 0.5 * low + 0.5 * high  # the difference overflows


TIED = 0.25
"""The least share of points that equal the median if the points have few values."""
EACH = 2
"""The least number of points for each other value on average, and of stretches of them: a spike has a value of its own,
and a single stretch of another value is a change."""


def median_and_kind(x: Floats) -> tuple[float, bool]:
    """The median, and whether the points have only few values that alternate: a grade of 0 or 1 in each row, or the
    mean of four. The median is then one of these values, whatever their shares."""
    n = len(x)
    if n == 0:
        return nan, False
    ordered = x.copy()
    ordered.sort()
    if ordered[-1] != ordered[-1]:
        return nan, False
    half = n // 2
    middle = _middle(float(ordered[half - 1]), float(ordered[half])) if n % 2 == 0 else float(ordered[half])
    beside = ordered[half - 1], ordered[half if n % 2 == 0 else min(half + 1, n - 1)]
    # in sorted order, points equal to the median are next to it: most metrics have none, so one look rules them out
    return middle, middle in beside and _by_turns(x, middle)


def _by_turns(x: Floats, middle: float) -> bool:
    off = x != middle
    others = int(np.count_nonzero(off))
    if not EACH <= others <= (1.0 - TIED) * len(x):
        return False
    stretches = int(off[0]) + int(np.count_nonzero(off[1:] > off[:-1]))
    return stretches >= EACH and EACH * len(np.unique(x[off])) <= others


def few_valued(x: Floats) -> bool:
    """Whether points have few values (see `median_and_kind`)."""
    return median_and_kind(x)[1]


def level_of(x: Floats) -> float:
    """The level of points: their median, which no outlier moves, or the mean if they have few values. NaN as for
    `median`."""
    middle, few = median_and_kind(x)
    return mean(x) if few else middle


def kind_of_level(x: Floats) -> str:
    """Which level `level_of` takes: "mean" or "median"."""
    return "mean" if few_valued(x) else "median"


def levels_of(table: Floats) -> Floats:
    """The level (see `level_of`) of each row of a table without NaN."""
    n = table.shape[1]
    ordered = np.sort(table, axis=1)
    below, low, high = ordered[:, max(0, n // 2 - 1)], ordered[:, (n - 1) // 2], ordered[:, n // 2]
    out: Floats = low + 0.5 * (high - low)
    for at in np.flatnonzero((below == out) | (ordered[:, min(n - 1, (n - 1) // 2 + 1)] == out)).tolist():
        if _by_turns(table[at], out[at]):
            out[at] = mean(table[at])
    return out


def mean(x: Floats) -> float:
    """The mean of at least one point. It equals `numpy.mean` to the last digit and takes a third of the time."""
    middle = float(np.add.reduce(x)) / len(x)
    return middle if isfinite(middle) else float(np.add.reduce(x / len(x)))  # the sum overflows


def sd(x: Floats) -> float:
    """The standard deviation of at least one point. It equals `numpy.std` to the last digit and takes a quarter of the
    time."""
    d = x - np.add.reduce(x) / len(x)
    spread = sqrt(float(np.add.reduce(d * d)) / len(x))
    if isfinite(spread) or not np.isfinite(x).all():
        return spread
    most = float(np.abs(x).max())  # squares overflow
    return most * sd(x / most)


def quantile(x: Floats, share: float) -> float:
    """The quantile, interpolated linearly between two points, as is numpy's default. NaN for an empty array or one with
    a NaN."""
    n = len(x)
    if n == 0:
        return nan
    ordered = x.copy()
    ordered.sort()
    if ordered[-1] != ordered[-1]:
        return nan
    at = share * (n - 1)
    below = int(at)
    low = float(ordered[below])
    rest = at - below
    if not rest:
        return low
    high = float(ordered[below + 1])
    between = low + rest * (high - low)
    return between if isfinite(between) else (1 - rest) * low + rest * high  # the difference overflows


def column_medians(x: Floats) -> Floats:
    """The median of each column of a matrix, ignoring NaN; NaN for a column that holds only NaN."""
    if not len(x):
        return np.full(x.shape[1], np.nan)
    ordered, count, each = np.sort(x, axis=0), np.isfinite(x).sum(axis=0), np.arange(x.shape[1])
    low, high = ordered[np.maximum(count - 1, 0) // 2, each], ordered[count // 2, each]
    middle: Floats = low + 0.5 * (high - low)
    far = np.isinf(middle)  # the difference overflows
    middle[far] = 0.5 * low[far] + 0.5 * high[far]
    return middle


BLOCK = 1024
"""Points in a block. The sum, minimum and maximum of each block are kept."""
SPANS = 8
"""The most window sums that are kept."""


class BlockSums(Struct):
    """The sum of each full block of a column, and the column's minimum and maximum up to the end of that block. Threads
    that look at an older and a newer state of the column may share one object, if the older state is the beginning of
    the newer one."""

    _sums: list[float] = field(default_factory=list)
    _lows: list[float] = field(default_factory=list)
    _highs: list[float] = field(default_factory=list)
    _spans: dict[tuple[int, int], float] = field(default_factory=dict)  # (start, stop) -> sum, of recent calls
    _filling: Lock = field(default_factory=Lock)

    def over(self, values: Floats) -> tuple[float, float, float]:
        """Sum, minimum and maximum of all values; 0, inf and -inf if there are none."""
        full = self._fill(values)
        total = sum(self._sums[:full])
        low, high = (self._lows[full - 1], self._highs[full - 1]) if full else (float("inf"), float("-inf"))
        rest = values[full * BLOCK :]
        if not len(rest):
            return total, low, high
        low, high = min(low, float(np.minimum.reduce(rest))), max(high, float(np.maximum.reduce(rest)))
        return total + float(np.add.reduce(rest)), low, high

    def sum(self, values: Floats, start: int, stop: int) -> float:
        """The sum of values[start:stop]. It is kept because windows at the start and in the middle of a column seldom
        move."""
        known = self._spans.get((start, stop))
        if known is None:
            if len(self._spans) >= SPANS:
                self._spans = {}
            known = self._spans[start, stop] = self._summed(values, start, stop)
        return known

    def _summed(self, values: Floats, start: int, stop: int) -> float:
        first, last = -(-start // BLOCK), stop // BLOCK
        if first >= last:
            return float(np.add.reduce(values[start:stop]))
        self._fill(values)
        whole = float(sum(self._sums[first:last]))
        for part in (values[start : first * BLOCK], values[last * BLOCK : stop]):
            if len(part):
                whole += float(np.add.reduce(part))
        return whole

    def _fill(self, values: Floats) -> int:
        """Adds new full blocks. Returns the number of full blocks in these values."""
        full = len(values) // BLOCK
        if full <= len(self._sums):
            return full
        with self._filling:
            for i in range(len(self._sums), full):
                block = values[i * BLOCK : (i + 1) * BLOCK]
                low, high = float(np.minimum.reduce(block)), float(np.maximum.reduce(block))
                self._lows.append(min(self._lows[-1], low) if i else low)
                self._highs.append(max(self._highs[-1], high) if i else high)
                self._sums.append(float(np.add.reduce(block)))  # last, so that this list is never the longest
        return full
