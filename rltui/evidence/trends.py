"""Trend statistics that stay reliable on short, autocorrelated series.

Every test here was chosen by its false-alarm rate on series in which nothing happens: textbook trend tests raise an
alarm in 35-98 % of such runs when they are repeated again and again (docs: `rltui explain` of the rules that use them).
All functions take plain arrays of finite values in row order and cost at most O(n log n) on 200 points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import erfc, inf, sqrt

import numpy as np
from msgspec import Struct

from rltui.run.sums import few_valued, levels_of, mean, median, median_and_kind, quantile, sd
from rltui.run.table import Floats, Ints

MAD_TO_SD = 1.4826  # of a normal distribution
WINDOW = 200  # rows that a trend looks back: a drift of 4 sd per 200 rows is found within 160
TREND_P = 0.005  # with 1.5 sd and 5 looks: 0 alarms in 1,000 null rows (white, AR .5), .02 (AR .8)
TREND_EFFECT = 1.5  # of the noise's sd
EXACT = 12  # points up to which the null distribution is computed exactly
SHORT = 30  # below this many rows blocks hold too little, so monotone thirds are required instead
SHORT_EFFECT = 3.0
PAST = 20  # values that a spike has to exceed
WARMUP = 5  # first values that never count as spikes: a new critic, a first batch


def sd_m(x: Floats) -> float:
    """Robust standard deviation of the values, slow drift included; the plain one if there are few distinct values."""
    middle, few = median_and_kind(x)
    return sd(x) if few else MAD_TO_SD * median(np.abs(x - middle))


def sd_d(x: Floats) -> float:
    """Robust sd of the noise from row to row (immune to trend): MAD of the differences over sqrt 2.

    If most differences are exactly 0, or there are few distinct values, their plain root mean square is used instead.
    """
    if len(x) < 3:
        return 0.0
    d = x[1:] - x[:-1]
    robust = MAD_TO_SD * median(np.abs(d - median(d)))
    if robust == 0.0 or few_valued(x):
        robust = sqrt(float((d * d).sum()) / len(d))
    return robust / sqrt(2.0)


@lru_cache(maxsize=1024)
def _edges(n: int, blocks: int) -> tuple[int, ...]:
    return tuple(n * k // blocks for k in range(blocks + 1))


@lru_cache(maxsize=128)
def _pairs(n: int) -> tuple[Ints, Ints]:
    """All pairs i < j of n points."""
    i, j = np.triu_indices(n, 1)
    return i, j


def block_levels(x: Floats, blocks: int) -> Floats:
    """`blocks` equal blocks of the newest points, in order: levels if a block has 5 values or more, else means."""
    size = len(x) // blocks
    table = x[len(x) - size * blocks :].reshape(blocks, size)
    if size < 5:
        means: Floats = np.add.reduce(table, axis=1) / size
        return means
    return levels_of(table)


def smooth(x: Floats, width: int) -> Floats:
    """Centred mean of `width` points (odd), fewer at both ends. Each mean uses only its own points, so that a huge
    value leaves no rounding error in the others."""
    n, half = len(x), width // 2
    smoothed: Floats = np.empty(n)
    if n <= 2 * half:
        low, high = np.maximum(0, np.arange(n) - half), np.minimum(n, np.arange(n) + half + 1)
        for i in range(n):
            smoothed[i] = np.add.reduce(x[low[i] : high[i]]) / (high[i] - low[i])
        return smoothed
    full = 2 * half + 1
    smoothed[half : n - half] = np.convolve(x, np.ones(full), "valid") / full
    counts = np.arange(half + 1, full)
    smoothed[:half] = x[: full - 1].cumsum()[half:] / counts
    smoothed[n - half :] = (x[: n - full : -1].cumsum()[half:] / counts)[::-1]
    return smoothed


def mann_kendall_p(x: Floats, carries: float = 0.0) -> tuple[float, int]:
    """Two-sided p of the Mann-Kendall test and the sign of its statistic.

    Exact up to 12 points (the normal approximation never gets below .008 with 6), approximate beyond. With ties, it
    errs towards silence. `carries`: lag-1 correlation of the noise, which widens the statistic for more points as it
    widens that of a mean (Yue, Wang 2004).
    """
    n = len(x)
    i, j = _pairs(n)
    later, earlier = x[j], x[i]
    s = np.count_nonzero(later > earlier) - np.count_nonzero(later < earlier)  # no difference, as that may overflow
    if s == 0:
        return 1.0, 0
    sign = 1 if s > 0 else -1
    if n <= EXACT:
        return _exact_tails(n)[abs(s)], sign
    variance = n * (n - 1) * (2 * n + 5) / 18.0 * (1.0 + carries) / (1.0 - carries)
    return erfc((abs(s) - 1.0) / sqrt(2.0 * variance)), sign


@lru_cache(maxsize=EXACT + 1)
def _exact_tails(n: int) -> list[float]:
    """P(|S| >= s) under the null for s = 0, 1, ...: permutations counted by their inversions (Kendall 1938)."""
    counts = [1]
    for k in range(2, n + 1):
        counts = [sum(counts[max(0, i - k + 1) : i + 1]) for i in range(len(counts) + k - 1)]
    most, total = n * (n - 1) // 2, sum(counts)
    return [sum(c for i, c in enumerate(counts) if abs(most - 2 * i) >= s) / total for s in range(most + 1)]


def theil_sen(t: Floats, x: Floats, most: int = 50) -> tuple[float, float, float]:
    """Median slope and its 90 % interval (Kendall's variance). Beyond `most` points it uses block means."""
    if len(x) > most:
        borders = np.array(_edges(len(x), most))
        edges, counts = borders[:-1], np.diff(borders)
        x = np.add.reduceat(x, edges) / counts
        t = np.add.reduceat(t, edges) / counts
    n = len(x)
    if n < 2:
        return 0.0, 0.0, 0.0
    i, j = _pairs(n)
    apart, slopes = t[j] - t[i], x[j] - x[i]
    if np.count_nonzero(apart > 0) < len(apart):
        keep = apart > 0
        apart, slopes = apart[keep], slopes[keep]
    slopes /= apart
    slopes.sort()
    return _middle_and_ends(slopes, n)


def even_slope(x: Floats) -> tuple[float, float, float]:
    """`theil_sen` per point, for evenly spaced points that are too few to be averaged."""
    if len(x) < 2:
        return 0.0, 0.0, 0.0
    i, j = _pairs(len(x))
    slopes = (x[j] - x[i]) / _apart(len(x))
    slopes.sort()
    return _middle_and_ends(slopes, len(x))


def _middle_and_ends(slopes: Floats, n: int) -> tuple[float, float, float]:
    """Median of the sorted slopes of `n` points, and its 90 % interval."""
    if not len(slopes):
        return 0.0, 0.0, 0.0
    reach = 1.645 * sqrt(n * (n - 1) * (2 * n + 5) / 18.0)
    high = min(len(slopes) - 1, int((len(slopes) + reach) / 2) + 1)
    low = len(slopes) - 1 - high  # as many slopes lie below as above: upside down, the interval is the same
    mid = len(slopes) // 2
    slope = slopes[mid] if len(slopes) % 2 else (slopes[mid - 1] + slopes[mid]) / 2.0
    return float(slope), float(slopes[low]), float(slopes[high])


@lru_cache(maxsize=16)
def _apart(n: int) -> Floats:
    """Steps between the two points of each pair of `_pairs`."""
    i, j = _pairs(n)
    return (j - i).astype(np.float64)


class Trend(Struct, frozen=True):
    """`direction` -1, 0 or 1; `total` the fitted change over the window; `p` of the block test; `noise` its sd_d."""

    direction: int
    total: float
    p: float
    noise: float
    n: int


NO_TREND = Trend(0, 0.0, 1.0, 0.0, 0)


def trend(x: Floats, window: int = WINDOW) -> Trend:
    """The trend test: Mann-Kendall on at most 12 block medians and a Theil-Sen change of at least 1.5 sd of
    the noise."""
    x = x[-window:]
    n = len(x)
    if n < 10:
        return NO_TREND
    noise = sd_d(x)
    if n < SHORT:
        thirds = block_levels(x, 3)
        steps = thirds[1:] - thirds[:-1]
        total = float(thirds[2] - thirds[0])
        monotone = bool((steps > 0).all() or (steps < 0).all())
        moved = monotone and abs(total) >= SHORT_EFFECT * noise
        return Trend((1 if total > 0 else -1) if moved else 0, total, 1.0, noise, n)
    blocks = block_levels(x, min(12, max(6, n // 5)))
    p, sign = mann_kendall_p(blocks)
    total = even_slope(blocks)[0] * len(blocks)
    gate = p < TREND_P and abs(total) >= TREND_EFFECT * noise and total * sign > 0
    return Trend(sign if gate else 0, total, p, noise, n)


def flat(t: Trend, effect: float = 0.5, p: float = 0.2) -> bool:
    """Whether this is a plateau: the fitted change is below `effect` standard deviations of the noise, and the block
    test finds nothing."""
    return t.n >= SHORT and abs(t.total) < effect * t.noise and t.p > p


def standard_error(x: Floats) -> float:
    """Standard error of the mean of an autocorrelated window: its sd, inflated by its lag-1 correlation."""
    n = len(x)
    if n < 3:
        return float("nan")
    d = x - np.add.reduce(x) / n
    squares = float(np.add.reduce(d * d))
    sd = sqrt(squares / (n - 1))
    if sd == 0.0:
        return 0.0
    rho = min(0.9, carried(d, squares))
    return sd * sqrt((1 + rho) / (1 - rho) / n)


def carried(d: Floats, squares: float) -> float:
    """Lag-1 correlation of deviations from their mean, whose sum of squares is `squares`; 0 if it is negative."""
    return max(0.0, float(np.add.reduce(d[1:] * d[:-1])) / squares)


def onset(x: Floats, margin: int = 5) -> int:
    """Index at which the later behaviour begins (see `turn`)."""
    return turn(x, margin)[0]


CLEAR = 0.8
"""The least distance (`turn`) between before and after: the best of all cuts through 60 rows of noise reaches .6."""


def turn(x: Floats, margin: int = 5) -> tuple[int, float]:
    """Index at which the later behaviour begins, and how far it is from the earlier one: 1 if every later value lies on
    one side of every earlier one, 0 if they mix (|2 AUC - 1|).

    Best two-segment fit of the running medians (no spike of one or two rows counts), as a step or as a ramp from level.
    Each segment holds at least `margin` points.
    """
    n = len(x)
    if n < 2 * margin + 1:
        return max(0, n - 1), 0.0
    ordered = x.copy()
    ordered.sort()
    above = ordered.searchsorted(x, "right")
    ranks = above - (above - ordered.searchsorted(x)) / 2.0  # ties share a rank
    ranks -= mean(ranks)
    if not ranks.any():
        return n - 1, 0.0
    y = running_medians(x)
    at = _two_segments(y - mean(y), margin)
    return at, abs(mean(ranks[at:]) - mean(ranks[:at])) / (n / 2.0)


def first_turn(x: Floats, part: float = 0.5, margin: int = 5) -> tuple[int, float]:
    """As `turn`, over the rows until the later behaviour has gone this `part` of the way from the earlier one. The
    final level, above all a plateau, thus does not move the index at which the change began."""
    at, clear = turn(x, margin)
    if not 0 < at < len(x) - 1:
        return at, clear
    y = running_medians(x)
    before, later = median(y[:at]), y[at:]
    far = quantile(later, 0.9 if float(later.mean()) > before else 0.1)
    gone = np.flatnonzero((later - before) * np.sign(far - before) >= part * abs(far - before))
    stop = at + (int(gone[0]) if len(gone) else len(later)) + margin
    sooner, clear_too = turn(x[:stop], margin) if stop < len(x) else (at, clear)
    return (sooner, clear) if clear_too >= clear / 2.0 and sooner > margin else (at, clear)


def apart(x: Floats, y: Floats) -> float:
    """How far apart two samples are: 1 if every value of one lies on one side of every value of the other, 0 if they
    mix (|2 AUC - 1|)."""
    return abs(float(np.sign(y[:, None] - x[None, :]).mean()))


def windows(x: Floats, width: int) -> Floats:
    """Every stretch of `width` points, one per row: a view, made at a tenth of numpy's cost."""
    x = np.ascontiguousarray(x)
    return np.ndarray((len(x) - width + 1, width), x.dtype, x, strides=2 * x.strides)


NEAR_POINTS = 64


def above_all_before(x: Floats, first: int, width: int, sign: int = 1) -> list[int]:
    """The points from `first` (1 or more) on at which `width` consecutive points begin that all lie above all points
    before them (below, if `sign` is -1). Few lie above those just before, so rarely must all earlier points be
    compared."""
    near = max(0, first - NEAR_POINTS)
    y = sign * x[near:]
    lowest = y[first - near : len(y) - width + 1]
    for k in range(1, width):  # takes a tenth of the time that numpy needs for the rows of `windows`
        lowest = np.minimum(lowest, y[first - near + k : len(y) - width + 1 + k])
    before = np.maximum.reduce(y[: first - near], keepdims=True)
    highest = np.maximum.accumulate(np.concatenate((before, y[first - near : -1])))
    found = (lowest > highest[: len(lowest)]).nonzero()[0]
    if near and len(found):
        far = x[:near].max() if sign > 0 else -x[:near].min()
        found = found[lowest[found] > far]
    return [first + at for at in found.tolist()]


def running_medians(x: Floats) -> Floats:
    """Centred medians of 5: no spike of one or two rows counts. The median of five is the median of three numbers: the
    last one, the greater of the minima of two pairs, and the lesser of their maxima. It needs no sorting, at half the
    cost."""
    x = np.concatenate((x[:2], x, x[-2:]))
    n = len(x) - 4
    a, b, c, d, e = x[:n], x[1 : n + 1], x[2 : n + 2], x[3 : n + 3], x[4:]
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    middle: Floats = np.maximum(np.minimum(low, high), np.minimum(np.maximum(low, high), e))
    return middle


def steadied(x: Floats) -> Floats:
    """Running medians; running means of 5 if there are so few distinct values that a spike looks like any
    other value."""
    return smooth(x, 5) if few_valued(x) else running_medians(x)


def _two_segments(y: Floats, margin: int) -> int:
    """Index of the best cut of a centred series: the lowest squared error of a step or of a ramp from level."""
    n = len(y)
    cut = np.arange(margin, n - margin + 1)
    head = y.cumsum()[cut - 1]
    squares = float((y * y).sum())
    step_cost = squares - head * head / cut - head * head / (n - cut)
    ramps, sizes = _ramps(n, margin)
    ramp_cost = squares - (ramps @ y) ** 2 / sizes
    best_step, best_ramp = int(step_cost.argmin()), int(ramp_cost.argmin())
    return int(cut[best_step if step_cost[best_step] <= ramp_cost[best_ramp] else best_ramp])


@lru_cache(maxsize=2)  # for the only lengths that a long run requests
def _ramps(n: int, margin: int) -> tuple[Floats, Floats]:
    """Centred ramps of `n` points, one from each cut on, and the sum of squares of each."""
    cut = np.arange(margin, n - margin + 1)
    ramps = np.maximum(0.0, np.arange(n, dtype=np.float64)[None, :] - (cut[:, None] - 1))
    ramps -= ramps.mean(axis=1, keepdims=True)
    return ramps, (ramps * ramps).sum(axis=1)


def log_spikes(
    x: Floats,
    start: int,
    z: float,
    factor: float,
    floor: float,
    window: int = 50,
    loud: float = inf,
    calm: Callable[[], float] = lambda: inf,
) -> list[int]:
    """Indices from `start` on whose log is `z` robust sd and `factor` times above the `window` values before.

    `x` must be positive. `floor` is the least sd of the logs that counts. A size that a tenth of the values before came
    near is one of their modes: if only some batches teach anything, these are not spikes. Values above `loud` that
    differ by `factor` among themselves are not a mode, however many there are, nor is a value `factor` above `calm`,
    the earlier high level: a run gets used to its spikes, but did not begin with them. The first values have too few
    before them. As soon as there are `PAST`, they are compared with each other, except for the `WARMUP` with which a
    run or a critic starts.
    """
    first = max(start, WARMUP)
    if len(x) < PAST or first >= len(x):
        return []
    high = (x[first:] >= 3.0 * median(x[:50])).nonzero()[0]
    if not len(high):
        return []
    logs, apart = np.log(x), np.log(factor)
    out = []
    for i in high + first:
        past = np.sort(logs[max(0, i - window) : i] if i >= PAST else np.delete(logs[:PAST], i))
        mid = median(past)
        sd = max(floor, MAD_TO_SD * median(np.abs(past - mid)))
        if logs[i] - mid < max(z * sd, apart):
            continue
        mode = past[-(len(past) // 10 + 1)]
        others = past[past - mid >= apart]
        wild = x[i] > loud and len(others) > 1 and others[-1] - others[0] >= apart
        if wild or x[i] >= factor * calm() or logs[i] - mode >= apart:
            out.append(int(i))
    return out


MIRRORED = -0.9
"""Correlation up to which two courses are the same one, once upside down."""


def mirrored(x: Floats, y: Floats) -> bool:
    """Whether two courses of one length are the same one, once upside down. Neither may be constant."""
    return float(np.corrcoef(x, y)[0, 1]) <= MIRRORED


TOGETHER, AS_STEEP, MEETS = 0.85, 1.4, 0.1
"""Least correlation of two courses that follow each other, the greatest factor between their slopes before and after,
and the greatest deviation of the sum of both sides from the whole, as a share of the one's gain over the other's range.
"""


def upside_down(x: Floats, y: Floats, at: int, wholes: Sequence[tuple[float, float | None]]) -> bool:
    """Whether the second course follows the first one up to point `at`, and from there on just as much upside down,
    with at least three points on each side. At the same value of the first one (0 to 1), the old and the new second one
    must add up to one of `wholes`: 0 if its sign was flipped, 1 if it is now the remainder to 1. Beside each whole is
    the gain of the second one over the range of the first, if that is known. With reward hacking, the sum can be
    anything."""
    slopes, starts = [], []
    for part in (slice(0, at), slice(at, len(x))):
        a, b = x[part], y[part]
        if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
            return False
        together = float(np.corrcoef(a, b)[0, 1])
        if abs(together) < TOGETHER:
            return False
        slopes.append(together * float(b.std() / a.std()))
        starts.append(float(b.mean()) - slopes[-1] * float(a.mean()))
    before, after = slopes
    if not (before > 0 > after and 1 / AS_STEEP <= -after / before <= AS_STEEP):
        return False
    middle = (before + after) * float(x.mean())
    return any(
        abs(sum(starts) + middle - whole) <= MEETS * before
        and (gain is None or 1 / AS_STEEP <= before / gain <= AS_STEEP)
        for whole, gain in wholes
    )
