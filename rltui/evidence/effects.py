"""Levels and their differences, each with its standard error and with the smallest difference that would have shown.

A difference has a direction only if it is larger than its error allows, and "no change" always says what could not have
been seen. All functions of one series take finite values in row order.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from math import hypot, isfinite, log, sqrt
from typing import Literal

import numpy as np
from msgspec import Struct

from rltui.evidence.trends import MAD_TO_SD, standard_error
from rltui.run.sums import few_valued, mean, median
from rltui.run.table import Floats, Ints, Series

Direction = Literal[-1, 0, 1]

NOISE_POINTS = 500
"""The number of newest points from which the noise is measured."""

PARTS, PART = 12, 10
"""The most parts of the newest points, each with its own slope, and the least number of differences in each. For white
noise, the measured noise is 6 % too small with parts of 10 (by simulation), and 1 % too small with parts of 40."""

LIMIT, SHORT_LIMIT = 2.0, 3.0
"""The number of standard errors from which on two levels differ. A series of fewer than `SHORT_POINTS` needs more, as
its error is itself estimated from few points."""
SHORT_POINTS = 30
POWER = 0.84
"""Normal quantile of .8: a difference of limit + .84 standard errors is seen in four of five cases."""

LEAST_BLOCKS = 20
"""The least number of means of neighbours that show how much such means vary: with 10 of them, a fall would count as
its own noise."""
DOUBT = 3.0
"""Divided by the root of the number of means. For white noise, their variation exceeds the expected one by more than
this in one of twenty cases (by simulation)."""

MEDIAN_LOSS = 1.2533
"""Standard error of a median, in times that of a mean, for normal noise."""

BLOCKS = 64
"""A longer window is reduced to the means of this many blocks when its error is computed."""

ROUNDING = 1e-14
"""Differences below this share of the largest value are rounding errors of the sum."""

WINSOR = 4.0
"""Differences are cut off at this many sd before they are correlated: one jump would make any series look
like a walk."""
MOST_CARRY = 0.9
GREATEST = sys.float_info.max


class Level(Struct, frozen=True):
    """The level of a metric over some points: `value` in its own unit, `se` its standard error, `points` the number of
    points it rests on, from `first_step` to `last_step`, both included."""

    value: float
    se: float
    points: int
    first_step: int
    last_step: int


class Effect(Struct, frozen=True):
    """One level minus another, in the metric's unit. `direction` is 0 if the difference does not exceed its error; a
    difference below `smallest` (seen in four of five cases) may then still exist."""

    value: float
    se: float
    smallest: float
    direction: Direction

    @property
    def errors(self) -> float:
        """The difference in standard errors, within ±99: without noise, any difference is beyond doubt."""
        if self.se <= 0.0:
            return 0.0 if self.value == 0.0 else (99.0 if self.value > 0 else -99.0)
        return max(-99.0, min(99.0, self.value / self.se))


def effect(before: float, after: float, se: float, limit: float = LIMIT) -> Effect | None:
    """A difference judged at `limit` standard errors; None if it overflowed."""
    value = after - before
    smallest = (limit + POWER) * se
    if not (isfinite(value) and isfinite(smallest)):
        return None
    clear = abs(value) > ROUNDING * max(abs(before), abs(after)) and abs(value) >= limit * se
    return Effect(value, se, smallest, (1 if value > 0 else -1) if clear else 0)


def between(before: Level, after: Level, limit: float = LIMIT) -> Effect | None:
    """How far `after` lies above `before`; None if the difference overflows."""
    return effect(before.value, after.value, hypot(before.se, after.se), limit)


def noise(x: Floats, off: Floats | None = None) -> float:
    """Sd of the noise from point to point, over the newest points. A trend, its bends and one jump do not count.

    Median absolute deviation of the differences over the square root of 2. It is replaced by their root mean square
    without the greatest one (which may be the change itself) if most differences are equal (mostly constant values), or
    if there are few distinct values (a grade of 0 or 1: such a median is the distance from 0 to 1, or nothing). `off`:
    their `off_trend`, if it is known.
    """
    x = x[-NOISE_POINTS:]
    if len(x) < 3:
        return 0.0
    size = np.abs(off_trend(x) if off is None else off)
    robust = MAD_TO_SD * median(size)
    if robust <= ROUNDING * float(np.maximum.reduce(np.abs(x))) or few_valued(x):
        robust = rms_but_greatest(size)
    return robust / sqrt(2.0) if isfinite(robust) else 0.0


def noise_of_few(x: Floats) -> float:
    """Standard deviation of the noise of fewer than ten points: the root mean square of their differences without the
    greatest one, which may be the change itself. The median of five differences is often close to 0. With it, the best
    of six evaluations of pure noise was 3 errors better than the first in one case of 15; with this one, in one of 24
    (simulated)."""
    if len(x) < 3:
        return 0.0
    mean = rms_but_greatest(np.abs(x[1:] - x[:-1]))
    return mean / sqrt(2.0) if isfinite(mean) else 0.0


def rms_but_greatest(size: Floats) -> float:
    """Root mean square of at least two sizes, without the greatest one."""
    ordered = size.copy()
    ordered.sort()
    rest = ordered[:-1]
    return sqrt(float(np.add.reduce(rest * rest)) / len(rest))


def off_trend(x: Floats) -> Floats:
    """Differences between the newest neighbours, less the usual difference in their part of the series. If a course
    turns, the usual difference of the whole would be the slope of neither side."""
    x = x[-NOISE_POINTS:]
    d = x[1:] - x[:-1]
    parts = max(1, min(PARTS, len(d) // PART))
    size = len(d) // parts
    rest = len(d) - size * parts
    ordered = d[rest:].reshape(parts, size).copy()
    ordered.sort(axis=1)  # for few points, numpy's functions of one line cost more than the work itself
    usual = ordered[:, (size - 1) // 2] / 2.0 + ordered[:, size // 2] / 2.0
    d[rest:].reshape(parts, size)[...] -= usual[:, None]
    d[:rest] -= usual[0]
    return d


def carry(x: Floats, off: Floats | None = None, sd: float | None = None) -> float:
    """How much of a point's noise the next one carries on (lag-1 correlation), 0 to .9, over the newest points.

    It is computed from the differences, so that neither trend nor level matters: those of white noise correlate at
    -1/2, those of an autoregressive series at -(1 - rho)/2 (Box, Jenkins 1976, §3.2). Jumps are cut off at 4 sd, and
    the greatest of them is left out.
    """
    x = x[-NOISE_POINTS:]
    if len(x) < 8:
        return 0.0
    d = off_trend(x) if off is None else off
    most = WINSOR * sqrt(2.0) * (noise(x, d) if sd is None else sd)
    if most <= 0.0 or not isfinite(most):
        return 0.0
    size = np.abs(d)
    lone = int(size.argmax())
    jumped = bool(size[lone] > most)
    d = np.minimum(np.maximum(d, -most), most)
    if jumped:  # one change of level is not noise that carries on
        return _carry_beside(d, lone)
    d -= mean(d)
    squares = float(np.add.reduce(d * d))
    if squares <= 0.0 or not isfinite(squares):
        return 0.0
    return min(MOST_CARRY, max(0.0, 1.0 + 2.0 * float(np.add.reduce(d[1:] * d[:-1])) / squares))


def _carry_beside(d: Floats, lone: int) -> float:
    """As `carry`, with one of the differences left out."""
    kept = np.arange(len(d)) != lone
    d = d - mean(d[kept])
    others = d[kept]
    squares, both = mean(others * others), kept[1:] & kept[:-1]
    if squares <= 0.0 or not isfinite(squares) or not both.any():
        return 0.0
    share = mean((d[1:] * d[:-1])[both]) / squares * (len(d) - 1) / len(d)
    return min(MOST_CARRY, max(0.0, 1.0 + 2.0 * share))


def mean_error(x: Floats, sd: float) -> float:
    """Standard error of the mean of a window, from its own points (with their autocorrelation), but never less than
    white noise of `sd` gives: a few equal points do not make a level exact."""
    n = len(x)
    if n > 2 * BLOCKS:
        edges, sizes = _blocks(n)
        x = np.add.reduceat(x, edges) / sizes
    own = standard_error(x)
    return max(own if isfinite(own) else 0.0, sd / sqrt(n)) if n else sd


def drawn_error(x: Floats, sd: float) -> float:
    """Standard error of the mean of a window whose points have independent noise, as evaluations do: from their
    distances to a straight line through them, but at least what white noise of `sd` gives. A gain within the window is
    not noise: five evaluations from 0 to .45 are not a level of .3 with an error of .1."""
    n = len(x)
    if n < 3:
        return sd / sqrt(max(1, n))
    at = np.arange(n) - (n - 1) / 2.0
    off = x - np.add.reduce(x / n)
    off = off - float((off * at).sum()) / float((at * at).sum()) * at
    own = sqrt(float((off * off).sum()) / (n - 2) / n)
    return max(own if isfinite(own) else 0.0, sd / sqrt(n))


@lru_cache(maxsize=64)
def _blocks(n: int) -> tuple[Ints, Ints]:
    """The indices at which `BLOCKS` blocks of `n` points begin, and how many points each has."""
    edges = np.arange(BLOCKS) * n // BLOCKS
    return edges, np.diff(np.append(edges, n))


def median_error(n: int, sd: float, carried: float) -> float:
    """Standard error of the median of `n` neighbouring points with noise `sd` (from differences) and lag-1 correlation
    `carried`."""
    return min(GREATEST, MEDIAN_LOSS * sd * sqrt(1.0 + carried) / (1.0 - carried) / sqrt(max(1, n)))


def wander(x: Floats, points: int, se: float) -> float:
    """Sd of means of `points` neighbouring points, from how much each of the newest means differs from the line between
    its neighbours. 0 if it does not exceed `se` (the part due to the noise from row to row), or if there are too few
    means.

    Noise that lasts longer than a row hardly shows in the differences of rows, yet no mean of a window removes it: with
    noise of .9 white and .4 that lasts for 50 rows, the differences show a quarter of the error. It uses second
    differences, as a bend in the course is not noise, and their median, as one jump is not noise either.
    """
    blocks = min(len(x) // max(1, points), BLOCKS)
    if blocks < LEAST_BLOCKS:
        return 0.0
    means = x[len(x) - blocks * points :].reshape(blocks, points)
    means = np.add.reduce(means, axis=1) / points
    off = means[1:-1] - means[:-2] / 2.0 - means[2:] / 2.0
    sd = MAD_TO_SD * median(np.abs(off)) / sqrt(1.5)
    return sd if isfinite(sd) and sd > (1.0 + DOUBT / sqrt(blocks)) * se else 0.0


def chance(points: int, width: int) -> float:
    """The number of standard errors by which the best of so many noisy means exceeds a usual one (its expected
    maximum). A fall from a peak has to be larger than that."""
    return sqrt(2.0 * log(max(2.0, points / max(1, width))))


LEAST_ROWS = 20
"""Rows needed to measure how noisy a metric is, or (with one more for each part) what changes with what."""
EXPLAINED = 0.8
"""Share of the total's changes from row to row that the logged parts must make up, before their weights
count as known."""


def noise_around(series: Series, onset: int, end: int) -> tuple[float, float] | None:
    """Noise from row to row before step `onset`, and from there to step `end`; None if either side has too few rows."""
    at = int(series.steps.searchsorted(onset))
    stop = int(series.steps.searchsorted(end, "right"))
    before, after = series.values[:at], series.values[at:stop]
    return None if min(len(before), len(after)) < LEAST_ROWS else (noise(before), noise(after))


def weights(parts: Mapping[str, Series], total: Series) -> dict[str, tuple[float, float]] | None:
    """How much the total changes with each part while the others stay equal (least squares of the changes from row to
    row), and that in standard errors. None if too few steps have all parts, or if the parts do not make up the total.
    """
    steps = total.steps
    for series in parts.values():
        steps = np.intersect1d(steps, series.steps)
    if len(steps) <= LEAST_ROWS + len(parts):
        return None
    y, *columns = (np.diff(series.values[np.searchsorted(series.steps, steps)]) for series in (total, *parts.values()))
    moving = [(name, x) for name, x in zip(parts, columns, strict=True) if np.std(x) > 0]
    if not moving or not np.std(y) > 0:
        return None
    x = np.column_stack([column for _, column in moving])
    fitted, _, rank, _ = np.linalg.lstsq(x, y, rcond=None)
    left = float(np.square(y - x @ fitted).sum())
    if rank < len(moving) or left > (1.0 - EXPLAINED) * float(np.square(y).sum()):
        return None
    spread = np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * max(left / (len(y) - len(moving)), 1e-24))
    return {
        name: (float(weight), float(weight / se)) for (name, _), weight, se in zip(moving, fitted, spread, strict=True)
    }


def lowest(x: Floats, first: int, last: int) -> int:
    """Index of the last of the lowest values from `first` up to `last`."""
    return last - 1 - int(x[first:last][::-1].argmin())


def highest(x: Floats, first: int, last: int) -> int:
    """Index of the first of the highest values from `first` up to `last`."""
    return first + int(x[first:last].argmax())


def greatest(x: Floats, first: int, last: int) -> float:
    """The highest value from `first` up to `last`; 0 if there is none."""
    return float(x[first:last].max()) if first < last else 0.0
