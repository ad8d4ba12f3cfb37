"""Where a score that fell was back near its start."""

from __future__ import annotations

from rltui.evidence.metric import FIRST, MetricFacts
from rltui.evidence.trends import running_medians

NEAR = 0.25
"""Of what the score had gained: as near to its start it is back there."""


def back_at_start(score: MetricFacts, onset: int, best: float) -> int | None:
    """The first step from an onset on, before which it stood at `best`; None if it is not there, or had gained
    nothing."""
    since = score.since_step(onset)
    if since is None or best <= score.first or len(since.values) < FIRST:
        return None
    back = running_medians(since.values) <= score.first + NEAR * (best - score.first)
    return int(since.series.steps[int(back.argmax())]) if back.any() else None
