"""Whether a policy may be one that the run had before: at one earlier step, all metrics that show it were where they
are now."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rltui.evidence.metric import MetricFacts
from rltui.evidence.trends import sd_d, windows
from rltui.run.sums import median
from rltui.run.table import Floats, Ints

NOW = 10
"""The most rows that show where a metric went: a policy that learns on goes the same way again."""
LEAST = 5
"""The fewest rows before that show a course."""
ROOM = 16.0
"""Greatest sum of squares, in standard errors, of the distances of the metrics from one earlier step: three of them
exceed it in 1 of 1,000 cases."""
MEDIAN = 1.25
"""Standard error of a median, in times that of a mean."""
ROUGH = 0.02
"""The least noise, as a share of its level: some metrics are logged with two digits."""


def stood_together(metrics: Sequence[MetricFacts], at: int) -> bool:
    """Whether there is a step before `at` at which all metrics were where they are right after `at`, within their
    noise. What lies beyond the first rows of a metric, on their side, may have been so before the log begins."""
    told = [one for facts in metrics if (one := _Course.of(facts, at)) is not None]
    if not told:
        return True
    steps = max((one.steps for one in told), key=len)
    off = sum(one.off(steps) ** 2 for one in told)
    before = sum(one.before**2 for one in told)
    return bool(min(float(np.min(off)), before) <= ROOM)


class _Course:
    """The distance of a metric at each step from its present value, in standard errors. Both are medians of equally
    many rows, from a step on."""

    def __init__(self, steps: Ints, away: Floats) -> None:
        self.steps, self._away = steps, away
        beyond = away[0] * (away[-1] - away[0]) > 0
        self.before = 0.0 if beyond else float(away[0])

    @staticmethod
    def of(facts: MetricFacts, at: int) -> _Course | None:
        begin = int(facts.series.steps.searchsorted(at))
        if not LEAST <= begin < len(facts.series):
            return None
        levels = facts.values[:begin]
        x, now = _scaled(levels, facts.values[begin : begin + NOW])
        rows = min(len(now), begin)
        noise = max(sd_d(x), ROUGH * (1.0 if x is not levels else abs(median(now))), 1e-12)
        course = np.median(windows(x, rows), axis=1)
        error = MEDIAN * noise * (2.0 / rows) ** 0.5
        return _Course(facts.series.steps[: len(course)], (course - median(now)) / error)

    def off(self, steps: Ints) -> Floats:
        found: Floats = np.interp(steps, self.steps, self._away)
        return found


def _scaled(before: Floats, now: Floats) -> tuple[Floats, Floats]:
    """Takes the logarithm if all values are positive: the noise of a KL grows with it."""
    if (before > 0).all() and (now > 0).all():
        return np.log(before), np.log(now)
    return before, now
