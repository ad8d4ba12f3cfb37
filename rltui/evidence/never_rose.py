"""Whether a metric was never better than in its first rows, and has gradually come down from there."""

from __future__ import annotations

from functools import lru_cache
from math import hypot

import numpy as np

from rltui.evidence.effects import effect
from rltui.evidence.metric import FIRST, MetricFacts
from rltui.evidence.shifts import BESIDE, at_once
from rltui.run.sums import mean
from rltui.run.table import Floats, Ints

FIRST_STEP = 10
"""A metric that begins later does not show the start of the run."""
MANY = 4
"""The fewest points, in times of `FIRST`: fewer show no course."""
PARTS = 60
"""The most parts of the course between which a fall may begin and end."""
BETTER = 10.0
"""Variances of the noise by which a fall that began late fits better than any that began with the run: odds of 150."""


def never_rose(facts: MetricFacts, share: float) -> bool | None:
    """Whether at least this `share` of the start was lost gradually, and nothing was gained before. None if the start
    is not known."""
    best = facts.peak
    if facts.series.steps[0] > FIRST_STEP or best is None or len(facts.series) < MANY * FIRST or facts.first <= 0:
        return None
    gain = effect(facts.first, best.value, hypot(best.se, facts.start.se))
    rose = gain is None or (gain.direction > 0 and best.step > facts.series.steps[FIRST - 1])
    leapt = any(s.after < s.before and at_once(facts.series, s, BESIDE) for s in facts.shifts)
    fell = facts.now.value <= (1.0 - share) * facts.first
    return fell and not rose and not leapt and not _began_late(facts.values)


def _began_late(x: Floats) -> bool:
    """Whether the metric stayed level until some step, and then fell in less time than it had stayed. Compares two
    lines of level, fall and level: a fall that begins with the run must fit clearly worse than one that begins late."""
    size = -(-len(x) // PARTS)
    parts = x[len(x) % size :].reshape(-1, size).mean(axis=1)
    begins, shapes = _falls(len(parts))
    gains = (shapes @ (parts - mean(parts))) ** 2  # squares that each shape explains
    noise = mean(np.diff(parts) ** 2) / 2.0  # not robust: shares near 0 have next to no noise, unlike earlier ones
    return float(gains[begins > 0].max() - gains[begins == 0].max()) > BETTER * noise


@lru_cache(maxsize=8)
def _falls(n: int) -> tuple[Ints, Floats]:
    """Falls from level to level through `n` points, with mean 0 and length 1, and the point where each begins: the
    first, or one that is at least as near to the end of the fall as to the start."""
    ends = [(a, b) for b in range(2, n) for a in (0, *range(-(-b // 2), b))]
    at = np.arange(n, dtype=np.float64)
    shapes = np.array([np.clip((at - a) / (b - a), 0.0, 1.0) for a, b in ends])
    shapes -= shapes.mean(axis=1, keepdims=True)
    shapes /= np.sqrt((shapes * shapes).sum(axis=1, keepdims=True))
    return np.array([a for a, _ in ends]), shapes
