"""The best sustained state of a metric, and whether it has come down from it."""

from __future__ import annotations

from math import hypot, isfinite, sqrt
from typing import Literal

import numpy as np
from msgspec import Struct

from rltui.evidence.blocks import Blocks
from rltui.evidence.effects import (
    LIMIT,
    SHORT_LIMIT,
    SHORT_POINTS,
    Effect,
    Level,
    chance,
    effect,
    median_error,
    noise,
    noise_of_few,
)
from rltui.evidence.trends import smooth, steadied
from rltui.run.sums import median
from rltui.run.table import Floats, Ints, Series

BLOCK_WIDTH = 51
FEW = 10
"""With fewer points, their noise is estimated by the method for few points."""
TIE = 1e-12
"""Share of the largest value. Smoothed values that are this near to the best count as equal, and the first of them is
named. Levels that are this near to each other are the same."""


class Peak(Struct, frozen=True):
    """The best sustained state of a metric: its smoothed value, standard error and step, and the number of independent
    means of which it is the best."""

    value: float
    se: float
    step: int
    means: float

    @property
    def luck(self) -> float:
        """How far, in standard errors, the best of so many means lies above a usual one by chance."""
        return chance(round(self.means), 1)


class Curve(Struct, frozen=True):
    """A smoothed metric: values at steps, the standard error of each value, and how many points each value averages."""

    steps: Ints
    values: Floats
    se: float
    width: int


def smoothed(
    series: Series, blocks: Blocks | None, sd: float | None = None, better: Literal[-1, 1] = 1
) -> Curve | None:
    """The curve whose best point is the peak. With `blocks`, medians of blocks and of 5 neighbours come before the
    means: a spike of one batch is not a state. None below 5 points (3 evaluations), or if values overflow. `sd`: the
    noise of what is smoothed, if it is known."""
    found = sustained(series, blocks, better)
    if found is None:
        return None
    steps, values, width = found
    if sd is None:
        x = series.values if blocks is None else blocks.levels
        sd = noise_of_few(x) if len(x) < FEW else noise(x)
        if blocks is None and sd == 0.0:
            sd = _noise_of_shares(x)
    se = sd / sqrt(min(width if blocks is not None else least_of(width), len(values)))
    return Curve(steps, values, se, width) if isfinite(se) else None


def _noise_of_shares(x: Floats) -> float:
    """The noise that counting alone causes in shares that show none because nearly all of them are equal. The smallest
    distance between two shares, or from either end of the scale, gives the number of answers: one more right answer is
    not a gain. 0 if the values are not shares, or are all the same."""
    seen = np.unique(x)
    if len(seen) < 2 or seen[0] < 0.0 or seen[-1] > 1.0:
        return 0.0
    steps = np.diff(np.concatenate(([0.0], seen, [1.0])))
    top = float(seen[-1])
    return sqrt(float(steps[steps > 0].min()) * max(top * (1.0 - top), float(seen[0]) * (1.0 - float(seen[0]))))


def sustained(series: Series, blocks: Blocks | None, better: Literal[-1, 1] = 1) -> tuple[Ints, Floats, int] | None:
    """Steps, values and width of the curve, without the error, which would double the cost."""
    x = series.values
    if blocks is None:
        if len(x) < 3:
            return None
        width = 5 if len(x) >= 10 else 3
        steps, values = series.steps, better * borne_out(better * x, width)
    else:
        if len(x) < 5:
            return None
        middles = np.minimum(np.arange(len(blocks.levels)) * blocks.size + blocks.size // 2, len(x) - 1)
        width = max(5, min(BLOCK_WIDTH, len(middles) // 20 * 2 + 1))
        steps, values = series.steps[middles], smooth(steadied(blocks.levels), width)
    return (steps, values, width) if np.logical_and.reduce(np.isfinite(values)) else None


def least_of(width: int) -> int:
    """The least number of evaluations that a value of `borne_out` averages, for width `width`. Its error follows from
    it."""
    return width // 2 + 1


def borne_out(good: Floats, width: int) -> Floats:
    """Evaluations as the mean of their neighbours, but none below what was known when it was made: the mean that ends
    with it, or its own value if that is lower. Later evaluations may confirm a checkpoint but cannot make it worse.
    Otherwise the best one would move back with each evaluation after a turn, and a sudden fall would count against
    those before it. Nor can they lift one of the first above all that came up to it: before a gain there are no
    neighbours that show its noise."""
    half = width // 2
    curve = smooth(good, width)
    sums = np.concatenate(([0.0], np.cumsum(good)))
    begins = np.maximum(np.arange(len(good)) - half, 0)
    ends = np.arange(1, len(good) + 1)
    shown = np.minimum((sums[ends] - sums[begins]) / (ends - begins), good)
    curve[:-1] = np.maximum(curve[:-1], shown[:-1])
    curve[:half] = np.minimum(curve[:half], np.maximum.accumulate(good[:half]))
    curve[-1] = shown[-1]
    return curve


def highest(good: Floats) -> int:
    """The index of the first of the highest values: sums of the same numbers differ in their last digits."""
    most, size = np.maximum.reduce(good), float(np.maximum.reduce(np.abs(good)))
    return int((good >= most - TIE * size).argmax())


def best(curve: Curve, better: Literal[-1, 1]) -> Peak:
    """The best point of the smoothed curve, in the direction that is good."""
    at = highest(better * curve.values)
    return Peak(float(curve.values[at]), curve.se, int(curve.steps[at]), len(curve.values) / curve.width)


def _covered(at: int, points: int, peak: Peak) -> int:
    """The number of points that the peak averages: fewer at both ends of the series."""
    half = round(points / peak.means) // 2
    return min(points, at + half + 1) - max(0, at - half)


def fallen(
    metric: Series, peak: Peak, now: Level, sd: float, carried: float, better: Literal[-1, 1], few: bool
) -> Effect | None:
    """The level now against the peak. As the best of many means, the peak lies above a usual one by chance alone.

    Windows lag behind a course and means follow a single odd value, so both sides get the benefit of the doubt. If a
    metric still improves, the peak lies among its newest points, and only what came after it can have fallen. With
    `few` points (evaluations), the peak counts as no better than most of those that it averages.
    """
    x, n = metric.values, len(metric)
    limit = (SHORT_LIMIT if n < SHORT_POINTS else LIMIT) + peak.luck
    at = int(metric.steps.searchsorted(peak.step))
    height, height_se = better * peak.value, max(peak.se, median_error(_covered(at, n, peak), sd, carried))
    low, low_se = better * now.value, now.se
    if few:
        around = x[max(0, at - 2) : at + 3]
        height, height_se = min(height, better * median(around)), median_error(len(around), sd, carried)
    after = x[max(at + 1, n - now.points) :]
    if not len(after):
        low = height
    elif len(after) < now.points and (level := better * median(after)) > low + TIE * max(abs(level), abs(low)):
        low, low_se = level, median_error(len(after), sd, carried)
    return effect(better * height, better * min(low, height), hypot(low_se, height_se), limit)
