"""What a verdict weighs: the part that both the decision and its words need."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.diagnosis.stopping import StopCase
from rltui.evidence.clock import enough
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.model import SEVERITY_RANK, Coverage, Finding, Mark, Severity
from rltui.rules.traits import Trait
from rltui.run.attempts import Crash

AT_THE_START = 0.05
"""Anything that began within this share of the run counts as present from the start."""
ENOUGH_ROWS = 10
"""With fewer rows, neither stages nor the run are judged."""


class Case(StopCase, frozen=True):
    """Everything that the procedure weighs."""

    active: Sequence[Finding]
    coverage: Coverage
    checks: int
    skipped: int
    past: Sequence[Finding] = ()
    failed: int = 0
    crashes: Sequence[Crash] = ()  # earlier attempts, each with the error that its log names

    def at(self, severity: Severity, *traits: Trait) -> list[Finding]:
        """Active findings of at least this severity. If traits are given, only findings that have one of them."""
        least = SEVERITY_RANK[severity]
        loud = [f for f in self.active if SEVERITY_RANK[f.severity] >= least]
        return [f for f in loud if not traits or self.has(f, *traits)]

    @property
    def loud(self) -> list[Finding]:
        return [f for f in self.active if f.severity != "info"]

    def of_policy(self, found: Sequence[Finding]) -> list[Finding]:
        """The findings that an earlier checkpoint would fix: neither they nor their roots lie outside the policy."""
        outside = {f.id for f in self.active if Mark.NOT_THE_POLICY in f.marks}
        return [f for f in found if f.id not in outside and f.root not in outside]


def few(look: Look) -> bool:
    """Whether there are too few rows and steps to judge."""
    return not enough(ENOUGH_ROWS, look.steps)


def goals(case: Case) -> list[MetricFacts]:
    """The metrics that a run should raise, if they have enough rows: score, reward and validation; for preference pairs
    also how often and by how much the better answer leads."""
    facts = case.look.facts
    pairs = ("dpo_accuracy", "dpo_reward_margin") if case.look.settings.preference else ()
    names = [name for name in (facts.score, facts.optimised, *pairs) if name is not None]
    found = [m for name in names if (m := facts.metric(name)) is not None and len(m.series) >= ENOUGH_ROWS]
    return [*found, *facts.validation_sets]


def risen(seen: Sequence[MetricFacts]) -> list[MetricFacts]:
    """The goals that are better than at the start, beyond their noise."""
    return [m for m in seen if m.since_start is not None and m.since_start.direction == m.better]


def lost(seen: Sequence[MetricFacts]) -> list[MetricFacts]:
    """The goals of training that are worse than at the start, beyond doubt."""
    return [m for m in seen if not m.held_out and m.lost]


def interrupted(case: Case) -> bool:
    """Whether the run was ended from outside. If so, it should be resumed, whatever else is known."""
    return any(Mark.INTERRUPTED in f.marks for f in case.loud)
