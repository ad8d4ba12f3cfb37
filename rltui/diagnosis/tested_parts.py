"""Expectations of causes about what a reward is made of: what its parts count in it, and the score of its task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rltui.diagnosis.outcome import Outcome, Spell, asked, fact_of, label_of, members, missing
from rltui.evidence.effects import weights
from rltui.evidence.look import Look
from rltui.evidence.metric import NOW_POINTS, MetricFacts
from rltui.evidence.present import present
from rltui.evidence.signal import num
from rltui.frameworks.parts import is_task
from rltui.plots.numbers import percent
from rltui.rules.bounds import NUMBERS
from rltui.rules.expectation import Mirrored, TaskScore
from rltui.rules.expected_grading import Unpaid

SURE = 3.0
"""Standard errors by which the weight of a part must differ from 0."""
NOTHING = 0.05
"""A weight below this share of the largest one is as good as none: such a part is not worth earning."""


def _mirrored(look: Look, test: Mirrored, spell: Spell) -> Outcome:
    total = fact_of(look, test.of)
    parts = {label: facts.series for label, facts in members(look, test.metric)}
    if total is None or not parts:
        return missing(look, test.of if total is None else test.metric)
    found = weights(parts, total.series)
    if found is None:
        return Outcome("unknown", f"{label_of(test.metric)} does not make up {label_of(total.name)}")
    label, (weight, errors) = min(found.items(), key=lambda one: one[1][0])
    told = f"{label} counts {num(weight)} times in {label_of(total.name)}, from row to row"
    if errors <= -SURE:
        return Outcome("met", told)
    return Outcome("unmet" if errors >= SURE else "unknown", told)


def _unpaid(look: Look, test: Unpaid, spell: Spell) -> Outcome:
    total = fact_of(look, test.of)
    parts = {label: facts.series for label, facts in members(look, test.metric)}
    task = [label for label in parts if is_task(label)]
    if total is None or not task or len(parts) < 2:
        return missing(look, test.of if total is None else test.metric)
    found = weights(parts, total.series)
    if found is None or any(label not in found for label in task):
        return Outcome("unknown", f"{label_of(test.metric)} does not make up {label_of(total.name)}")
    most = max(abs(weight) for weight, _ in found.values())
    label = max(task, key=lambda one: abs(found[one][0]))
    weight = found[label][0]
    told = f"{label} counts {num(weight if abs(weight) > NOTHING * most else 0.0)} times in {label_of(total.name)}"
    return Outcome("met" if abs(weight) <= NOTHING * most else "unmet", f"{told}, from row to row")


def _task_score(look: Look, test: TaskScore, spell: Spell) -> Outcome:
    scored = _scored(look, spell) or (_validated(look, spell) if test.validated else [])
    if not scored:
        return Outcome("unknown", "between which values the task's reward lies is not known")
    label, share, stands = (min if test.op in (">", ">=") else max)(scored, key=lambda one: one[1])
    holds = NUMBERS[test.op](share, test.value)
    return Outcome("met" if holds else "unmet", f"{label} is {stands} ({asked(test.op, percent(test.value), holds)})")


def _scored(look: Look, spell: Spell) -> list[tuple[str, float, str]]:
    """Label, share of its range and value: of the task's parts that are shares, else of a reward with known bounds."""
    parts = [(label, facts) for label, facts in members(look, "reward_component_mean") if is_task(label)]
    shares = [(label, facts) for label, facts in parts if facts.values.min() >= 0 and facts.values.max() <= 1]
    if parts:
        levels = [(label, _level(facts, spell)) for label, facts in shares]
        return [(label, level, percent(level)) for label, level in levels if level is not None]
    low, high, facts = look.profile.bottom, look.profile.ceiling, fact_of(look, look.reward)
    level = None if facts is None else _level(facts, spell)
    if facts is None or level is None or low is None or high is None or high <= low:
        return []
    share = (level - low) / (high - low)
    return [(label_of(facts.name), share, f"{num(level)}, {percent(share)} of the way from {num(low)} to {num(high)}")]


def _level(facts: MetricFacts, spell: Spell) -> float | None:
    """The level at the end of a spell: of a score that was lost at once a few rows ago only what is left."""
    upto = facts.values[: int(facts.series.steps.searchsorted(spell.end, "right"))]
    return facts.median_within(spell.onset, spell.end, present(upto, NOW_POINTS)) if len(upto) else None


def _validated(look: Look, spell: Spell) -> list[tuple[str, float, str]]:
    """The same of the validation score, if it is a share."""
    facts = look.facts.metric("val_score")
    level = None if facts is None else facts.median_within(spell.onset, spell.end, NOW_POINTS)
    if facts is None or level is None or facts.values.min() < 0.0 or facts.values.max() > 1.0:
        return []
    return [(label_of("val_score"), level, percent(level))]


OF_PARTS: Mapping[type, Callable[[Look, Any, Spell], Outcome]] = {
    Mirrored: _mirrored,
    Unpaid: _unpaid,
    TaskScore: _task_score,
}
