"""A share of clipped tokens that went up within some rows, while the learning rate stayed: the same updates clip more
only if the answers that they use are older, or are used more often."""

from __future__ import annotations

import numpy as np

from rltui.evidence.look import Look
from rltui.evidence.model import Mark
from rltui.evidence.shifts import NEAR
from rltui.evidence.signal import NOTICE, Signal
from rltui.plots.numbers import percent
from rltui.rules.base import Params, tail
from rltui.run.sums import column_medians, median

LEAST = 0.002
"""Share below which a count of tokens tells no factor."""
SAME = 0.1
"""Of the learning rate, by which it may differ."""
LOW, BETWEEN, RECENT = 2, 3, 40
"""Blocks of rows before that have to be low, blocks that it may take to go up, and newest blocks that are searched."""


def clipped_since(look: Look, p: Params) -> list[Signal]:
    """A note, if nothing of it is loud: what is clipped teaches nothing."""
    series = look.series("clip_frac")
    if series is None or len(series) < (LOW + BETWEEN + 1) * NEAR:
        return []
    now = tail(series.values, 2 * NEAR)
    found = _went_up(series.values, now / p["grown"]) if now >= p["grown_to"] else None
    if found is None:
        return []
    since, before = int(series.steps[found[0]]), found[1]
    if now < p["grown"] * max(before, LEAST) or not _same_rate(look, since):
        return []
    text = f"{percent(now)} of the tokens are clipped, and {percent(before)} were before step {since}, at the same "
    text += "learning rate: rollouts seem to be older since then, or to be used for more updates."
    proofs = (("clip_frac", f"since step {since}"), ("lr", "as before"))
    return [Signal(NOTICE, text, proofs, onset_step=since, marks=(Mark.COSTS,))]


def _went_up(x: np.ndarray[tuple[int], np.dtype[np.float64]], low: float) -> tuple[int, float] | None:
    """The first point behind the newest blocks that are low, if it took few blocks to go from there to where they all
    are twice as high, and the level of those blocks."""
    x = x[-RECENT * NEAR :] if len(x) > RECENT * NEAR else x[len(x) % NEAR :]
    levels = column_medians(x.reshape(-1, NEAR).T)
    under = np.flatnonzero(levels <= low)
    if not len(under):
        return None
    last = int(under[-1])
    high = np.flatnonzero(levels >= 2.0 * low)
    first = high[high > last]
    if last < LOW - 1 or not (levels[last + 1 - LOW : last + 1] <= low).all() or not len(first):
        return None
    if first[0] - last > BETWEEN or not (levels[first[0] :] >= 2.0 * low).all():
        return None
    at = (last + 1) * NEAR
    return at - len(x), median(x[max(0, at - 2 * LOW * NEAR) : at])


def _same_rate(look: Look, step: int) -> bool:
    rate = look.series("lr")
    at = 0 if rate is None else int(rate.steps.searchsorted(step))
    if rate is None or at < NEAR or len(rate) <= at:
        return False
    before, after = median(rate.values[at - NEAR : at]), median(rate.values[at:])
    return abs(after - before) <= SAME * before
