"""Median and quantile of short arrays: several times faster than numpy's, which matter on every new row."""

from __future__ import annotations

import numpy as np

from rltui.run.columns import Floats


def median(x: Floats) -> float:
    """NaN on an empty array and on one that holds a NaN."""
    return quantile(x, 0.5)


def quantile(x: Floats, share: float) -> float:
    """Between two points linearly, as numpy's default. NaN on an empty array and on one that holds a NaN."""
    n = len(x)
    if n == 0:
        return float("nan")
    ordered = x.copy()
    ordered.sort()
    if ordered[-1] != ordered[-1]:
        return float("nan")
    at = share * (n - 1)
    below = int(at)
    low = float(ordered[below])
    rest = at - below
    return low + rest * (float(ordered[below + 1]) - low) if rest else low


def column_medians(x: Floats) -> Floats:
    """Median of each column of a matrix, NaN left out; NaN where a column holds nothing else."""
    if not len(x):
        return np.full(x.shape[1], np.nan)
    ordered, count, each = np.sort(x, axis=0), np.isfinite(x).sum(axis=0), np.arange(x.shape[1])
    middle: Floats = (ordered[np.maximum(count - 1, 0) // 2, each] + ordered[count // 2, each]) / 2
    return middle
