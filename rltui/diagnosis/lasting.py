"""Whether a fall of a score has lasted: a run that goes on is not stopped for a dip that may heal."""

from __future__ import annotations

from rltui.evidence.clock import Clock
from rltui.evidence.facts import Facts

SHARE = 0.25
"""Of the steps before a fall: what took so long to learn and has been lost for a quarter of that is lost."""
ROWS = 200
"""Rows after which no fall is young: as far back as a trend looks."""
CLEAR = 3.0
"""Standard errors that this has to be: the lowest point is the lowest of many."""
NEWEST = 5
"""Points whose median is the level now, at least."""


def young(clock: Clock, onset: int) -> bool:
    """A fall that began at this step has not lasted yet."""
    return clock.step - onset < min(SHARE * (onset - clock.first_step), ROWS * clock.stride)


def recovering(facts: Facts, name: str, onset: int, part: float, points: int = NEWEST) -> bool:
    """The metric has made good this part of what it lost, beyond doubt and not long after its lowest, or all of it:
    what has come up to half of its best and stays there has lost the other half."""
    found = _lost_and_gained(facts, name, onset, points)
    if found is None:
        return False
    lost, gained, error, lowest = found
    if gained < max(part * lost, CLEAR * error):
        return False
    return gained >= lost or young(facts.clock, lowest)


def made_good(facts: Facts, name: str, onset: int) -> bool:
    """The metric is where it was before the onset."""
    found = _lost_and_gained(facts, name, onset, NEWEST)
    return found is not None and found[1] >= found[0]


def _lost_and_gained(facts: Facts, name: str, onset: int, points: int) -> tuple[float, float, float, int] | None:
    """How far the lowest since the onset lies below what was before, and the newest points above that; the standard
    error of the latter, and the step of the lowest. None if too few points tell."""
    metric = facts.metric(name)
    before = None if metric is None else metric.median_before(onset)
    now = None if metric is None else metric.after(onset, points)
    since = None if metric is None else metric.since_step(onset)
    lowest = None if since is None else since.lowest
    if before is None or now is None or lowest is None:
        return None
    least, step = lowest
    return before - least, now.value - least, now.se, step
