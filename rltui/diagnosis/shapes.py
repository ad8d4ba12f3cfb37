"""A series in a few numbers and words: first, mid and last window, slope, correlation with step, shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rltui.diagnosis.course import course
from rltui.diagnosis.trends import theil_sen
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


def describe(series: Series | None, window: int | None = None) -> Shape:
    """Shape of the finite points of a series. Costs O(n) for sums and a bounded amount for the rest."""
    if series is None:
        return EMPTY
    series = series.finite()
    n = len(series)
    if not n:
        return EMPTY
    x = series.values
    w = window_rows(n, window)
    start = (n - w) // 2
    first, mid, last = (float(np.add.reduce(x[a : a + w])) / w for a in (0, start, n - w))
    if n < 3:
        return Shape(first, mid, last, None, None, None, None, course(series.steps, x))
    t = series.steps.astype(np.float64)
    slope, low, high = theil_sen(t, x)
    return Shape(first, mid, last, 100 * slope, 100 * low, 100 * high, _correlation(t, x), course(series.steps, x))


def _correlation(t: Floats, x: Floats) -> float | None:
    dt, dx = t - np.add.reduce(t) / len(t), x - np.add.reduce(x) / len(x)
    # sums, not dot products: BLAS starts threads on long columns, which costs more than it saves here
    scale = float(np.sqrt((dt * dt).sum() * (dx * dx).sum()))
    return float((dt * dx).sum()) / scale if scale > 0 else None
