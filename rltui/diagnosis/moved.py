"""What moved since the start, whatever the verdict makes of it: remarks of published guides, then each other metric.

Worked out on request, as it asks every metric of the run.
"""

from __future__ import annotations

from dataclasses import dataclass

from rltui.diagnosis.remarks import ERRORS, Move, remarks
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look
from rltui.frameworks.load import metrics

COUNTERS = "progress"
"""The group of what only counts up."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A metric that moved: means of its first and last window in its own unit, and what to read in it."""

    metric: str
    first: float
    last: float
    text: str


def moved(look: Look, guard: Guard) -> tuple[Moved, ...]:
    """Moves that stand out of the noise: remarks in the order of their catalogue, each under the first metric that it
    speaks of, then those that no remark names, in the order of the vocabulary. Two names of one key are told once."""
    told = remarks(look, guard)
    said = [Moved(move.metric, move.first, move.last, remark.text) for remark in told for move in remark.moves[:1]]
    known = {name for remark in told for name in remark.metrics}
    keys = {found.series.key for name in known if (found := look.facts.metric(name)) is not None}
    for name, metric in metrics().items():
        found = look.facts.metric(name) if metric.group != COUNTERS and name not in known else None
        if found is None or found.since_start is None or abs(found.since_start.errors) < ERRORS:
            continue
        if found.series.key in keys:
            continue
        keys.add(found.series.key)
        move = Move(name, found.start.value, found.end.value)
        said.append(Moved(name, move.first, move.last, move.text))
    return tuple(said)
