"""Whether a step of a ranking is better than the start. If not, it needs no checkpoint, as the model that training
began with is still there."""

from __future__ import annotations

from math import hypot

import numpy as np

from rltui.evidence.peak import FEW
from rltui.evidence.ranking import Ranking
from rltui.run.table import Floats

GAIN, GAIN_OF_FEW = 2.5, 3.0
"""Standard errors by which the best step must beat the start if nothing else shows a gain; the second for few points.
With noise alone 4 of 100 runs with six evaluations have such a step, 3 with ten (simulated); with 2.0 it was 12 and 8.
"""
STEADY = 4.0
"""Standard errors of the slope from the first evaluation to the best (at least four) that show a gain no matter what
came after: a loss through a fault is not noise of the evaluations before. Among runs of 5 to 30 evaluations of pure
noise, 1 to 2 of 100 rise like this to their best (simulated)."""
LEAST = 4  # points that show a slope


def least_gain(r: Ranking) -> float:
    """The mean from which on a step by itself shows a gain."""
    return r.start + (GAIN_OF_FEW if len(r.value) < FEW else GAIN) * hypot(r.value_se, r.start_se)


def shows_gain(r: Ranking, at: int) -> bool:
    """Whether its score shows that a step is better than the start."""
    value = float(r.value[at])
    risen = r.rose_to is not None and value + r.value_se >= r.rose_to
    up = value >= least_gain(r) or risen or (r.held_out and _steadily(r.single[: at + 1]))
    return value > r.start and up


def beats_start(r: Ranking, at: int) -> bool:
    """The same, or the train reward shows it and the score does not contradict it."""
    return shows_gain(r, at) or (float(r.value[at]) >= r.start and bool(r.learnt[at]))


def _steadily(x: Floats) -> bool:
    """Whether evaluations rise up to the last of them, beyond their scatter around the line through them."""
    if len(x) < LEAST:
        return False
    t = np.arange(len(x)) - (len(x) - 1) / 2
    slope = float((t * x).sum() / (t * t).sum())
    off = x - x.mean() - slope * t
    return slope > STEADY * float(np.sqrt((off * off).sum() / (len(x) - 2) / (t * t).sum()))
