"""A series in a few numbers and words: first, mid and last window, slope, correlation with step, course."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rltui.diagnosis.course import course
from rltui.diagnosis.trends import theil_sen
from rltui.run.sums import BlockSums
from rltui.run.table import Floats, Series


@dataclass(frozen=True, slots=True)
class Shape:
    """Windows are means in the metric's unit; slopes are per 100 steps with the middle 90 % interval. None = undefined.

    `word` is the course in words, see `course`.
    """

    first: float | None
    mid: float | None
    last: float | None
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    corr_step: float | None
    word: str


EMPTY = Shape(None, None, None, None, None, None, None, "nothing finite")


def window_rows(n: int, window: int | None = None) -> int:
    """Rows of the first, mid and last window: `window`, else max(5, 10 %); never more than there are."""
    return min(n, window if window else max(5, n // 10))


def settled(n: int) -> int:
    """So many of `n` points do slope, correlation and course look at: all of them below 200, then those up to the last
    full per cent. A function of `n` alone, so that rows read one by one and all at once are described alike."""
    return n - n % max(1, n // 100)


@dataclass(frozen=True, slots=True)
class _Trend:
    """What is said of the settled points of a column. `array` and `first_row` tell whether it is still the same;
    `sums` are those of all its points."""

    array: Floats
    first_row: int
    points: int
    slopes: tuple[float, float, float] | None
    corr_step: float | None
    word: str
    sums: BlockSums

    def holds(self, array: Floats, series: Series) -> bool:
        return self.array is array and self.first_row == int(series.rows[0])


Trends = dict[str, _Trend]
"""By raw key: what `describe` keeps from one row to the next. A column that is revised moves to another array."""


def describe(series: Series | None, window: int | None = None, known: Trends | None = None) -> Shape:
    """Shape of the finite points of a series: the windows of all of them, the rest of the `settled` ones. With `known`,
    the rest is not worked out again until more points have settled."""
    if series is None:
        return EMPTY
    series = series.finite()
    n = len(series)
    if not n:
        return EMPTY
    x = series.values
    array, points = x if x.base is None else x.base, settled(n)
    trend = known.get(series.key) if known is not None else None
    if trend is not None and not trend.holds(array, series):
        trend = None
    if trend is None or trend.points != points:
        trend = _trend(array, series, points, BlockSums() if trend is None else trend.sums)
        if known is not None:
            known[series.key] = trend
    w = window_rows(n, window)
    start = (n - w) // 2
    first, mid, last = (trend.sums.sum(x, a, a + w) / w for a in (0, start, n - w))
    slope, low, high = (None, None, None) if trend.slopes is None else trend.slopes
    return Shape(first, mid, last, slope, low, high, trend.corr_step, trend.word)


def _trend(array: Floats, series: Series, points: int, sums: BlockSums) -> _Trend:
    steps, x = series.steps[:points], series.values[:points]
    slopes = corr = None
    if points > 2:
        t = steps.astype(np.float64)
        slope, low, high = theil_sen(t, x)
        slopes, corr = (100 * slope, 100 * low, 100 * high), _correlation(t, x)
    return _Trend(array, int(series.rows[0]), points, slopes, corr, course(steps, x), sums)


def _correlation(t: Floats, x: Floats) -> float | None:
    dt, dx = t - np.add.reduce(t) / len(t), x - np.add.reduce(x) / len(x)
    # sums, not dot products: BLAS starts threads on long columns, which costs more than it saves here
    scale = float(np.sqrt((dt * dt).sum() * (dx * dx).sum()))
    return float((dt * dx).sum()) / scale if scale > 0 else None
