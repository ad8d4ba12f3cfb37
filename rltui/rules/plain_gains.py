"""Gains that no standard error shows: a gain of the reward before it changed to another scale, and a leap, which widens
its own error until it fills the newest window."""

from __future__ import annotations

from rltui.evidence.effects import LIMIT
from rltui.evidence.look import Look
from rltui.evidence.metric import alone
from rltui.run.table import Floats

NEWEST, FIRST = 5, 20
"""Newest points that must all be above all of the first ones: in random order, 1 run in 50,000 has this."""


def gained_before(look: Look, errors: float) -> bool:
    """Whether the reward was `errors` standard errors above its start when its scale changed, and has lost nothing
    since. False if the scale never changed."""
    changed, series = look.rescale, look.logged(look.reward)
    if changed is None or series is None:
        return False
    before = series.until_row(changed.first_row).finite()
    if not len(before):
        return False
    then = alone(look.reward, before).since_start
    return then is not None and then.errors >= errors and look.facts.errors(look.reward) > -LIMIT


def stands_above(x: Floats) -> bool:
    """Whether the newest points are all above all of the first ones."""
    return len(x) >= NEWEST + FIRST and bool(x[-NEWEST:].min() > x[:FIRST].max())
