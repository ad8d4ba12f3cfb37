"""A series in a few numbers and words: first, mid and last window, slope, correlation with step, shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rltui.diagnosis.trends import block_medians, median, sd_d, theil_sen, trend
from rltui.run.table import Series


@dataclass(frozen=True, slots=True)
class Shape:
    """Windows are means in the metric's unit; slopes are per 100 steps with the middle 90 % interval. None = undefined.

    `word`: flat, rising, falling, accelerating, decelerating, peaked, recovering, collapsing, oscillating, constant,
    or "too short".
    """

    first: float | None
    mid: float | None
    last: float | None
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    corr_step: float | None
    word: str


EMPTY = Shape(None, None, None, None, None, None, None, "no data")


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
    first, mid, last = float(x[:w].mean()), float(x[start : start + w].mean()), float(x[-w:].mean())
    if n < 3:
        return Shape(first, mid, last, None, None, None, None, "too short")
    t = series.steps.astype(np.float64)
    slope, low, high = theil_sen(t, x)
    return Shape(first, mid, last, 100 * slope, 100 * low, 100 * high, _correlation(t, x), _word(x, n))


def _correlation(
    t: np.ndarray[tuple[int], np.dtype[np.float64]], x: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> float | None:
    dt, dx = t - t.mean(), x - x.mean()
    scale = float(np.sqrt((dt @ dt) * (dx @ dx)))
    return float(dt @ dx) / scale if scale > 0 else None


def _word(x: np.ndarray[tuple[int], np.dtype[np.float64]], n: int) -> str:
    if float(x.max()) == float(x.min()):
        return "constant"
    if n < 10:
        return "too short"
    b = block_medians(x, min(10, n // 3))
    noise = max(sd_d(b), 1e-12)
    span = float(b.max() - b.min())
    if span < 3.0 * noise / np.sqrt(2):
        turns = int((np.diff(np.sign(np.diff(b))) != 0).sum())
        return "oscillating" if turns >= len(b) - 3 and span > 0.5 * abs(median(b)) else "flat"
    change = float(b[-1] - b[0])
    high, low = int(b.argmax()), int(b.argmin())
    inner = range(1, len(b) - 2)
    if high in inner and b[high] - b[-1] > 0.3 * span and b[high] - b[0] > 0.3 * span:
        return "peaked"
    if low in inner and b[-1] - b[low] > 0.3 * span and b[0] - b[low] > 0.3 * span:
        return "recovering"
    worst = float(np.abs(np.diff(b)).max())
    if change < 0 and worst > 0.7 * span and len(b) >= 6:
        return "collapsing"
    half = len(b) // 2
    early, late = float(b[half] - b[0]), float(b[-1] - b[half])
    whole = trend(x[:: max(1, n // 200)][-200:])
    if whole.direction == 0 and abs(change) < 3 * noise:
        return "flat"
    if change > 0:
        return (
            "rising, accelerating"
            if late > 2 * abs(early)
            else "rising, levelling off"
            if early > 3 * abs(late)
            else "rising"
        )
    return (
        "falling, accelerating"
        if late < -2 * abs(early)
        else "falling, levelling off"
        if early < -3 * abs(late)
        else "falling"
    )
