"""Whether a metric was never better than in its first rows, and has come down from there little by little."""

from __future__ import annotations

from math import hypot

from rltui.evidence.effects import effect
from rltui.evidence.metric import FIRST, MetricFacts
from rltui.evidence.shifts import BESIDE, at_once

FIRST_STEP = 10
"""A metric that begins later does not show the start of the run."""
MANY = 4
"""Times `FIRST` points that it takes: fewer show no course."""


def never_rose(facts: MetricFacts, share: float) -> bool | None:
    """Whether at least this `share` of the start is lost, not at once, and nothing was gained before. None if the start
    is not known."""
    best = facts.peak
    if facts.series.steps[0] > FIRST_STEP or best is None or len(facts.series) < MANY * FIRST or facts.first <= 0:
        return None
    gain = effect(facts.first, best.value, hypot(best.se, facts.start.se))
    rose = gain is None or (gain.direction > 0 and best.step > facts.series.steps[FIRST - 1])
    leapt = any(s.after < s.before and at_once(facts.series, s, BESIDE) for s in facts.shifts)
    return not rose and not leapt and facts.now.value <= (1.0 - share) * facts.first
