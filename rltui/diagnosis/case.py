"""What a verdict weighs, and what of it both the decision and its words ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rltui.diagnosis.stopping import StopCase
from rltui.evidence.clock import enough
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.model import SEVERITY_RANK, Coverage, Finding, Mark, Severity
from rltui.rules.traits import Trait

ENOUGH_ROWS = 10
"""Of fewer nothing is judged: neither a stage nor the run."""


@dataclass(frozen=True, slots=True)
class Case(StopCase):
    """Everything that the procedure weighs."""

    active: Sequence[Finding]
    coverage: Coverage
    checks: int
    skipped: int
    past: Sequence[Finding] = ()
    failed: int = 0

    def at(self, severity: Severity, *traits: Trait) -> list[Finding]:
        """Active findings at this severity or above that have any of the traits, if any are named."""
        least = SEVERITY_RANK[severity]
        loud = [f for f in self.active if SEVERITY_RANK[f.severity] >= least]
        return [f for f in loud if not traits or self.has(f, *traits)]

    @property
    def loud(self) -> list[Finding]:
        return [f for f in self.active if f.severity != "info"]

    def of_policy(self, found: Sequence[Finding]) -> list[Finding]:
        """Those that an earlier checkpoint would mend: neither they nor their roots lie outside the policy."""
        outside = {f.id for f in self.active if Mark.NOT_THE_POLICY in f.marks}
        return [f for f in found if f.id not in outside and f.root not in outside]


def few(look: Look) -> bool:
    """Rows and steps are too few to judge."""
    return not enough(ENOUGH_ROWS, look.steps)


def goals(case: Case) -> list[MetricFacts]:
    """What a run is to raise, of rows enough: score, reward and validation; of pairs of answers how often and how far
    the better one leads."""
    facts = case.look.facts
    pairs = ("dpo_accuracy", "dpo_reward_margin") if case.look.settings.preference else ()
    names = [name for name in (facts.score, facts.optimised, *pairs) if name is not None]
    found = [m for name in names if (m := facts.metric(name)) is not None and len(m.series) >= ENOUGH_ROWS]
    return [*found, *facts.validation_sets]


def risen(seen: Sequence[MetricFacts]) -> list[MetricFacts]:
    """Those that are better than at their start, beyond their noise."""
    return [m for m in seen if m.since_start is not None and m.since_start.direction == m.better]


def interrupted(case: Case) -> bool:
    """The run was ended from outside: whatever else is known, it is to be resumed."""
    return any(Mark.INTERRUPTED in f.marks for f in case.loud)
