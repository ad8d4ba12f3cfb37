"""Detects where the reward changed its sign: from one row on, the same answers cost what they earned before.

No policy goes to the opposite level within one row while it writes as before. It soon follows, though, because from
then on it is trained the wrong way round.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from rltui.evidence.outages import Points, policy_moved
from rltui.evidence.stretches import BEFORE, CLEAR
from rltui.evidence.trends import above_all_before, sd_d, sd_m
from rltui.run.sums import median
from rltui.run.table import Floats, Series

AFTER = 2
"""Points that lie beyond all before. The first of them shows the level and the policy: the policy changes
within a few."""
AFTER_A_GAP = 5
"""The same if rows before it are missing or were not measured. What was learnt in those rows looks as if it came at
once, so that one row alone does not show the level."""
ALIKE = 0.5
"""Share of the level by which the new level may differ from its negative: the first updates move it."""
AT_ONCE = 2 / 3
"""Least share of the way to the new level that lies between the row before and the first one after. A reward that rises
through 0 has lows and highs on both sides, and none of them came at once."""
LAST, BAND = 3, 3.0
"""The last points before the change that must still lie at the old level, and the number of sd of the noise within
which they do."""
NEAR = 6
"""The number of points before at which the policy is looked at."""


class Turned(Struct, frozen=True):
    """From step `since` on (point `at`) the reward is the negative of what it was."""

    at: int
    since: int
    before: float
    after: float


def turned(reward: Series, logged: Points, start: int = 0) -> Turned | None:
    """The first point from `start` on at which the reward changed its sign, to values that lie beyond all before."""
    x, rows = reward.values, reward.rows
    first = max(start, BEFORE // 2)
    if len(x) < first + AFTER:
        return None
    for at in sorted([*above_all_before(x, first, AFTER), *above_all_before(x, first, AFTER, -1)]):
        before, after = x[max(0, at - BEFORE) : at], x[at : at + AFTER]
        old, new = median(before), float(after[0])
        noise = max(sd_d(before), sd_m(before), 1e-12)
        if abs(old) <= CLEAR * noise or abs(new + old) > ALIKE * abs(old) or bool((after * old >= 0).any()):
            continue
        if (new - float(x[at - 1])) / (new - old) < AT_ONCE:
            continue
        if abs(median(x[at - LAST : at]) - old) > max(BAND * noise, abs(old) / 4):
            continue  # it was already on its way there
        apart = np.diff(reward.steps[max(0, at - BEFORE) : at + 1])
        gap = apart[-1] > median(apart)
        if gap and not _stays(x[at : at + AFTER_A_GAP], old):
            continue
        near = rows[max(0, at - NEAR) : at]
        if any(policy_moved(near, rows[at : at + points], logged) is False for points in (AFTER, 1)):
            return Turned(at, int(reward.steps[at]), old, new)
    return None


def _stays(after: Floats, old: float) -> bool:
    """Whether several points show that the reward is the negative of what it was, and none of them is on
    the old side."""
    near = abs(median(after) + old) <= ALIKE * abs(old)
    return len(after) == AFTER_A_GAP and near and not bool((after * old >= 0).any())


def relearnt(reward: Series, logged: Points, since: int, before: float, after: float) -> bool:
    """Whether a reward that changed its sign at step `since` rose again because the policy learnt what it pays for now.
    A repaired reward comes back as it went, at once, with an unchanged policy."""
    x, at = reward.values, int(reward.steps.searchsorted(since))
    if len(x) < at + BEFORE // 2:
        return False
    leap = float((np.diff(x[at:]) * np.sign(before)).max())
    return leap < AT_ONCE * abs(before - after) and policy_moved(reward.rows[:at], reward.rows[-NEAR:], logged) is True
