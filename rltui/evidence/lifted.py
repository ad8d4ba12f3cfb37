"""Detects where the reward leapt beyond all earlier values from one row to the next, while the policy was as before.

No update teaches so much at once without moving the policy: the cause is another judge, reward model or kind of prompt.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from rltui.evidence.outages import Points, policy_moved
from rltui.evidence.stretches import BEFORE, on_rows
from rltui.evidence.trends import above_all_before, sd_d, sd_m
from rltui.evidence.two_values import ALIKE, top_of_two
from rltui.run.sums import median
from rltui.run.table import Series

AFTER, NEAR = 4, 6
"""Points from the leap on that all lie beyond those before, and points before it at which the policy is looked at."""
FAR = 10.0
"""The leap must be at least this many times the noise of the rewards before it: no row of a steady gain comes near."""


TOO_FAR = 50.0
"""With so large a leap, what the policy does in the rows after it no longer counts: it learns the new reward."""


PASSED = 4.0
"""The least leap, in times of that noise, beyond the highest reward that any answer could earn until then: no answer
can be that good, no matter which model wrote it."""
PAST = 200
"""Points before that show how high a single reward may be."""


class Lifted(Struct, frozen=True):
    """From step `since` on the reward is `after`; until then it is `before`. `top`: the highest reward that an answer
    could earn until then, if the mean has passed it; None if it has not, or if the highest reward is unknown."""

    since: int
    before: float
    after: float
    top: float | None = None


def lifted(reward: Series, logged: Points, start: int = 0, most: str = "score_max") -> Lifted | None:
    """The first leap from point `start` on. `most`: the metric of the highest reward of a batch. Also None if the log
    holds neither the KL nor both entropy and length, which show the policy."""
    x, rows = reward.values, reward.rows
    first = max(start, BEFORE)
    if len(x) < first + AFTER or not _is_told(logged):
        return None
    for at in above_all_before(x, first, AFTER):
        before, after = x[at - BEFORE : at], x[at : at + AFTER]
        noise = max(sd_d(before), sd_m(before), 1e-12)
        leap = float(after[0]) - float(before[-1])
        far = min(leap, median(after) - median(before[-NEAR:]))
        top = _passed(reward, at, logged(most), logged("reward_std")) if far >= PASSED * noise else None
        if far < FAR * noise and top is None:
            continue
        moved = policy_moved(rows[at - NEAR : at], rows[at : at + AFTER], logged)
        if moved and leap >= TOO_FAR * noise:  # no update on the new rewards has touched the answers of its first row
            moved = policy_moved(rows[at - NEAR : at], rows[at : at + 1], logged)
        if moved is False:
            return Lifted(int(reward.steps[at]), median(before[-NEAR:]), median(after), top)
    return None


def _passed(reward: Series, at: int, most: Series | None, spread: Series | None) -> float | None:
    """The highest reward of a single answer before a point, if the means from there on lie above it: as logged, or as
    derived from mean and deviation if rewards have two values."""
    rows, lowest = reward.rows[max(0, at - PAST) : at], float(reward.values[at : at + AFTER].min())
    if most is not None:
        seen = on_rows(rows, most)
        known = seen[np.isfinite(seen)]
        top = float(known.max()) if len(known) >= BEFORE else None
    else:
        top = None if spread is None else top_of_two(reward.values[at - len(rows) : at], on_rows(rows, spread))
    return top if top is not None and lowest > top * (1.0 + ALIKE) else None


def _is_told(logged: Points) -> bool:
    return logged("kl_ref") is not None or all(logged(name) is not None for name in ("entropy", "response_length_mean"))
