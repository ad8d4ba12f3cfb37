"""Where the reward changed its sign: from one row on the same answers cost what they earned before.

No policy goes to the opposite level within one row while it writes as before. It soon follows, though: what it is
trained on from there on is the wrong way round.
"""

from __future__ import annotations

from msgspec import Struct

from rltui.evidence.outages import Points, policy_moved
from rltui.evidence.stretches import BEFORE, CLEAR
from rltui.evidence.trends import above_all_before, sd_d, sd_m
from rltui.run.sums import median
from rltui.run.table import Series

AFTER = 2
"""Points that lie beyond all before. The first of them tells the level and the policy: it follows within a few."""
ALIKE = 0.5
"""Share of the level by which the one after may differ from its negative: the first updates move it."""
NEAR = 6
"""Points before at which the policy is looked at."""


class Turned(Struct, frozen=True):
    """From step `since` on (point `at`) the reward is the negative of what it was."""

    at: int
    since: int
    before: float
    after: float


def turned(reward: Series, logged: Points, start: int = 0) -> Turned | None:
    """The first point from `start` on at which the reward turned over to values that lie beyond all before."""
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
        near = rows[max(0, at - NEAR) : at]
        if any(policy_moved(near, rows[at : at + points], logged) is False for points in (AFTER, 1)):
            return Turned(at, int(reward.steps[at]), old, new)
    return None
