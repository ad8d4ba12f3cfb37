"""How the noise of a mean reward changes with its level: that of answers which are right or wrong is noisiest where
half of them are right."""

from __future__ import annotations

from math import sqrt

from rltui.evidence.look import Look
from rltui.evidence.shifts import NEAR
from rltui.run.table import Series

NOW = 50
"""Newest rows that tell the level. A mean, as most rows may hold nothing."""


def of_its_level(look: Look, series: Series, step: int) -> float:
    """How many times noisier the mean is by its level alone, against that before a step. 1 if it is not noisier, or if
    nobody knows the lowest and the highest reward."""
    low, high = look.profile.floor, look.profile.ceiling
    at = int(series.steps.searchsorted(step))
    if low is None or high is None or at < NEAR:
        return 1.0
    was, now = float(series.values[:at].mean()), float(series.values[max(at, len(series) - NOW) :].mean())
    room, before = ((high - level) * (level - low) for level in (now, was))
    return sqrt(room / before) if room > before > 0.0 else 1.0
