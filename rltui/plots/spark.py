"""Sparklines on a shared step axis, and min-max downsampling.

Cells hold means over equal spans of steps, not of indices, so that rows under one axis line up. A flat metric looks
flat: noise and small drifts do not fill the full height.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rltui.plots.glyphs import BLOCK, GlyphSet

Floats = NDArray[np.float64]

LEVELS = len(BLOCK.spark)
MEDIAN_SHARE = 0.35  # least range as a share of the median: a smaller one looks flat
JITTERS = 3.0  # least range in mean step-to-step differences: a smaller one is noise
HOLD_SPACINGS = 1.5  # a sparse metric keeps its value for this many of its spacings, then there is a gap
_HUGE = 1e300  # larger values count as this much, so that no difference overflows
_SAMPLE = 4096  # quantiles and jitter of more points than this are taken from an even sample


def _array(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _finite(values: ArrayLike) -> Floats:
    array = _array(values)
    good = np.isfinite(array)
    return array if good.all() else array[good]


def robust_range(values: ArrayLike, shown: ArrayLike | None = None) -> tuple[float, float]:
    """Range to draw `values` in: max(robust range, 35 % of the median, 3 x jitter), centred on the robust range.

    `shown`: the means of `values` that are drawn. The robust range is then theirs, within the 1-99 % quantiles of
    `values`. Non-finite values do not count. The ends are equal only if all is zero; (0, 0) if there is no value.
    """
    finite = _finite(values)
    if not len(finite):
        return 0.0, 0.0
    stride = len(finite) // _SAMPLE + 1
    sample = np.clip(finite[::stride], -_HUGE, _HUGE)
    low, median, high = (float(q) for q in np.quantile(sample, (0.01, 0.5, 0.99)))
    # pairs of neighbours, both clipped to the quantiles, so that one spike is no jitter
    pairs = np.clip(finite[1::stride], low, high), np.clip(sample, low, high)
    jitter = float(np.abs(pairs[0] - pairs[1][: len(pairs[0])]).mean()) if len(pairs[0]) else 0.0
    if shown is not None:
        drawn = _finite(shown)
        if len(drawn):
            low, high = (min(max(float(end), low), high) for end in (drawn.min(), drawn.max()))
    span = max(high - low, MEDIAN_SHARE * abs(median), JITTERS * jitter)
    middle = low + (high - low) / 2
    return middle - span / 2, middle + span / 2


def _levels(cells: Floats, low: float, high: float) -> list[int | None]:
    span = high - low
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = (cells - low) / span * (LEVELS - 0.01) if span > 0 else np.where(np.isnan(cells), np.nan, 0.0)
    clipped = np.clip(scaled, 0, LEVELS - 1)
    return [None if v != v else int(v) for v in clipped.tolist()]


def bucket_means(steps: ArrayLike, values: ArrayLike, width: int, first: float, last: float) -> Floats:
    """Mean of the finite values in each of `width` equal spans of the axis first..last (both included); NaN: gap.

    A metric that is not logged in every cell (validation) keeps its last value for 1.5 of its usual spacings.
    `steps` must not decrease. Points outside the axis are left out.
    """
    at, data = np.asarray(steps), _array(values)
    cells: Floats = np.full(max(0, width), np.nan)
    span = float(last) - float(first) + 1
    if not len(at) or width <= 0 or span <= 0:
        return cells
    edges = first + np.arange(width + 1) * (span / width)
    edges_in = edges - 1e-9 * span  # with a tolerance, so that an integer step lies where `axis.column` puts it
    if np.issubdtype(at.dtype, np.integer):
        edges_in = np.ceil(edges_in).astype(at.dtype)  # else the whole column is converted
    index = np.searchsorted(at, edges_in)
    starts, ends = index[:-1], index[1:]
    good = np.isfinite(data)
    whole = bool(good.all())
    padded = np.append(data if whole else np.where(good, data, 0.0), 0.0)  # so that an index past the end is allowed
    # not a running sum, which would lose small values after a large one: reduceat adds within each bucket only
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.add.reduceat(padded, index)[:-1]
        count = ends - starts if whole else np.add.reduceat(np.append(good, False), index, dtype=np.int64)[:-1]
        filled = (ends > starts) & (count > 0)
        cells[filled] = total[filled] / count[filled]
    empty = (ends == starts) & (starts > 0)
    if empty.any() and len(at) > 1:
        stride = len(at) // _SAMPLE + 1
        usual = float(np.median(np.diff(at[::stride]))) / stride
        before = starts[empty] - 1
        near = edges[:-1][empty] - at[before] <= HOLD_SPACINGS * usual
        cells[empty] = np.where(near & good[before], data[before], np.nan)
    return cells


def sparkline(
    steps: ArrayLike,
    values: ArrayLike,
    width: int,
    first_step: float,
    last_step: float,
    glyphs: GlyphSet = BLOCK,
    bounds: tuple[float, float] | None = None,
) -> str:
    """One row of exactly `width` cells on the step axis first_step..last_step; gaps are blanks.

    `bounds` sets the range (GPU power: 0 to the limit). Without it: `robust_range`.
    """
    cells = bucket_means(steps, values, width, first_step, last_step)
    low, high = bounds if bounds is not None else robust_range(values, cells)
    return "".join(" " if level is None else glyphs.spark[level] for level in _levels(cells, low, high))


def downsample(steps: Sequence[float] | ArrayLike, values: ArrayLike, buckets: int) -> tuple[Floats, Floats, Floats]:
    """(steps, low, high): least and greatest value in at most `buckets` equal spans of steps; empty spans are left out.

    NaN is skipped, unless a span holds nothing else. Least and greatest values keep spikes; means would lose them.
    """
    at, data = _array(steps), _array(values)
    if len(at) <= buckets or buckets <= 0:
        return at, data, data
    edges = at[0] + (at[-1] - at[0]) * np.arange(buckets) / buckets
    starts = np.unique(np.searchsorted(at, edges))
    return at[starts], np.fmin.reduceat(data, starts), np.fmax.reduceat(data, starts)
