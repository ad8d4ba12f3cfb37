"""How the noise of a mean reward changes with its level. If answers are right or wrong, the mean is noisiest when half
of them are right."""

from __future__ import annotations

from math import sqrt

from rltui.evidence.look import Look
from rltui.evidence.shifts import NEAR
from rltui.run.table import Series

NOW = 50
"""Newest rows that show the level. Uses a mean, as most rows may hold nothing."""


def of_its_level(look: Look, series: Series, step: int) -> float:
    """The factor by which the mean is noisier than before a step because of its level alone. 1 if it is not noisier, or
    if the lowest and the highest reward are unknown."""
    low, high = look.profile.floor, look.profile.ceiling
    at = int(series.steps.searchsorted(step))
    if low is None or high is None or at < NEAR:
        return 1.0
    was, now = float(series.values[:at].mean()), float(series.values[max(at, len(series) - NOW) :].mean())
    room, before = ((high - level) * (level - low) for level in (now, was))
    return sqrt(room / before) if room > before > 0.0 else 1.0
