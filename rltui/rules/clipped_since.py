"""A share of clipped tokens that went up within a few rows while the learning rate stayed. The same updates clip more
only if the answers that they use are older, or are used more often."""

from __future__ import annotations

from rltui.evidence.look import Look
from rltui.evidence.model import Mark
from rltui.evidence.shifts import NEAR
from rltui.evidence.signal import NOTICE, Signal
from rltui.evidence.went_up import LEAST_ROWS, went_up
from rltui.plots.numbers import percent
from rltui.rules.base import Params, tail
from rltui.run.sums import median

LEAST = 0.002
"""Share below which a count of clipped tokens cannot give a factor."""
SAME = 0.1
"""Share of the learning rate by which it may differ."""


def clipped_since(look: Look, p: Params) -> list[Signal]:
    """A note, for clipping that no louder limit reports: clipped tokens teach nothing."""
    series = look.series("clip_frac")
    if series is None or len(series) < LEAST_ROWS:
        return []
    now = tail(series.values, 2 * NEAR)
    found = went_up(series.values, now, p["grown"]) if now >= p["grown_to"] else None
    if found is None:
        return []
    since, before = int(series.steps[found[0]]), found[1]
    if now < p["grown"] * max(before, LEAST) or not _same_rate(look, since):
        return []
    text = f"{percent(now)} of the tokens are clipped, and {percent(before)} were before step {since}, at the same "
    text += "learning rate: rollouts seem to be older since then, or to be used for more updates."
    proofs = (("clip_frac", f"since step {since}"), ("lr", "as before"))
    return [Signal(NOTICE, text, proofs, onset_step=since, marks=(Mark.COSTS,))]


def _same_rate(look: Look, step: int) -> bool:
    rate = look.series("lr")
    at = 0 if rate is None else int(rate.steps.searchsorted(step))
    if rate is None or at < NEAR or len(rate) <= at:
        return False
    before, after = median(rate.values[at - NEAR : at]), median(rate.values[at:])
    return abs(after - before) <= SAME * before
