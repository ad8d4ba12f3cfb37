"""The step at which a score that fell was back near its start."""

from __future__ import annotations

from rltui.evidence.metric import FIRST, MetricFacts
from rltui.evidence.trends import running_medians

NEAR = 0.25
"""Share of what the score had gained: within it, the score is back at its start."""


def back_at_start(score: MetricFacts, onset: int, best: float) -> int | None:
    """The first step from an onset on at which the score is back; before the onset it was at `best`. None if it is not
    back, or had gained nothing."""
    since = score.since_step(onset)
    if since is None or best <= score.first or len(since.values) < FIRST:
        return None
    back = running_medians(since.values) <= score.first + NEAR * (best - score.first)
    return int(since.series.steps[int(back.argmax())]) if back.any() else None
