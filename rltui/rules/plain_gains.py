"""Gains that no standard error tells: what the reward gained before it went over to another scale, and a leap, which
widens its own error until it fills the newest window."""

from __future__ import annotations

from rltui.evidence.effects import LIMIT
from rltui.evidence.look import Look
from rltui.evidence.metric import alone
from rltui.run.table import Floats

NEWEST, FIRST = 5, 20
"""Newest points that all lie beyond all of the first: of values in random order 1 in 50,000 runs has them so."""


def gained_before(look: Look, errors: float) -> bool:
    """Whether the reward was so many standard errors above its start when its scale changed, and has lost nothing
    since. False if the scale is the one of the start."""
    changed, series = look.rescale, look.logged(look.reward)
    if changed is None or series is None:
        return False
    before = series.until_row(changed.first_row).finite()
    if not len(before):
        return False
    then = alone(look.reward, before).since_start
    return then is not None and then.errors >= errors and look.facts.errors(look.reward) > -LIMIT


def stands_above(x: Floats) -> bool:
    """Whether the newest points all lie above all of the first."""
    return len(x) >= NEWEST + FIRST and bool(x[-NEWEST:].min() > x[:FIRST].max())
