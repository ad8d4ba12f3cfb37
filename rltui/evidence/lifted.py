"""Where the reward leapt beyond all that it ever was, from one row to the next, while the policy was as before.

No update teaches so much at once without moving the policy: another judge, reward model or kind of prompts does.
"""

from __future__ import annotations

from msgspec import Struct

from rltui.evidence.outages import Points, policy_moved
from rltui.evidence.stretches import BEFORE
from rltui.evidence.trends import above_all_before, sd_d, sd_m
from rltui.run.sums import median
from rltui.run.table import Series

AFTER, NEAR = 4, 6
"""Points after it that all lie beyond those before, and points before at which the policy is looked at."""
FAR = 10.0
"""The leap must be at least so many times the noise of the rewards before it: no row of a steady gain comes near."""


TOO_FAR = 50.0
"""So far that what the policy does in the rows after it counts no more: it learns what the new reward pays for."""


class Lifted(Struct, frozen=True):
    """From step `since` on the reward is `after`, `before` until then."""

    since: int
    before: float
    after: float


def lifted(reward: Series, logged: Points, start: int = 0) -> Lifted | None:
    """The first leap from point `start` on. None also if the log holds neither KL nor both entropy and length, which
    show the policy."""
    x, rows = reward.values, reward.rows
    first = max(start, BEFORE)
    if len(x) < first + AFTER or not _is_told(logged):
        return None
    for at in above_all_before(x, first, AFTER):
        before, after = x[at - BEFORE : at], x[at : at + AFTER]
        noise = max(sd_d(before), sd_m(before), 1e-12)
        leap = float(after[0]) - float(before[-1])
        if min(leap, median(after) - median(before[-NEAR:])) < FAR * noise:
            continue
        moved = policy_moved(rows[at - NEAR : at], rows[at : at + AFTER], logged)
        if moved and leap >= TOO_FAR * noise:  # its first row is of answers that no update on the new rewards touched
            moved = policy_moved(rows[at - NEAR : at], rows[at : at + 1], logged)
        if moved is False:
            return Lifted(int(reward.steps[at]), median(before[-NEAR:]), median(after))
    return None


def _is_told(logged: Points) -> bool:
    return logged("kl_ref") is not None or all(logged(name) is not None for name in ("entropy", "response_length_mean"))
