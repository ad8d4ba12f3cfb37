"""The clip range that the log implies: a token is clipped once its probability has moved by that much, and tokens that
moved show in the KL."""

from __future__ import annotations

from math import sqrt

from rltui.evidence.look import Look
from rltui.rules.base import side_by_side
from rltui.run.sums import median

FIRST_STEPS, LEAST = 20, 5
"""Steps in which the policy is still next to its reference, and the fewest rows of them that are needed."""
BOTH_WAYS = 4.0
"""One update may have moved the policy by this many times the KL to the reference: to the same distance on its other
side."""


def implied_range(look: Look, share: float) -> float | None:
    """The largest change of a token's log-probability that the KL of the first rows allows, if at least this share of
    the tokens was clipped there: a share `c` that moved by `e` makes a KL of `c e² / 2`. None if fewer tokens were
    clipped, or if the log does not show the first rows."""
    if not look.n or int(look.steps[0]) > 1 or not look.profile.kl_per_token:
        return None
    clipped, kl = side_by_side(look, "clip_frac", "kl_ref")
    series = look.series("kl_ref")
    rows = 0 if series is None else int(series.steps.searchsorted(int(look.steps[0]) + FIRST_STEPS))
    clipped, kl = clipped[:rows], kl[:rows]
    if len(kl) < LEAST or median(clipped) < share:
        return None
    told = (clipped >= share) & (kl >= 0.0)
    return sqrt(float((2.0 * BOTH_WAYS * kl[told] / clipped[told]).min())) if told.any() else None
