"""Tests what causes expect of validation beside the train reward."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rltui.diagnosis.outcome import Outcome, Spell, fact_of
from rltui.evidence.look import Look
from rltui.evidence.metric import NOW_POINTS, MetricFacts
from rltui.evidence.signal import num
from rltui.rules.expected_validation import HeldOut

EVALS = 3
"""The number of evaluations on each side of the onset whose medians are compared."""
SHARE = 0.5
"""Share of the part of its level that the train reward lost: a worse policy loses as much on other prompts."""


def _held_out(look: Look, test: HeldOut, spell: Spell) -> Outcome:
    sets, reward = look.facts.validation_sets, fact_of(look, look.reward)
    if not sets:
        return Outcome("unknown", "validation is not logged")
    was = None if reward is None or spell.onset is None else reward.median_before(spell.onset)
    now = None if reward is None or spell.onset is None else reward.median_after(spell.onset, NOW_POINTS)
    if was is None or now is None or was <= 0.0 or spell.onset is None:
        unknown = Outcome("unknown", "what the reward lost is not known as a share")
        return unknown if spell.onset is None else _risen(sets, test, spell.onset) or unknown
    ways = [_levels(one, spell.onset) for one in sets]
    known = [way for way in ways if way is not None and way[0] > 0.0]
    if len(known) < len(sets):
        return _risen(sets, test, spell.onset) or Outcome("unknown", "too few evaluations were made about the onset")
    lost = (was - now) / was
    before, after = max(known, key=lambda way: (way[0] - way[1]) / way[0])
    falls = (before - after) / before >= SHARE * lost
    told = f"validation {num(before)} → {num(after)} over the fall of the reward, {num(was)} → {num(now)}"
    return Outcome("met" if falls == test.falls else "unmet", told)


def _risen(sets: Sequence[MetricFacts], test: HeldOut, onset: int) -> Outcome | None:
    """The result if the fall began before there were enough evaluations to show the level before it: all sets rose
    since their first evaluation, and none fell with the reward. None if that is not the case."""
    if any(int(one.series.steps.searchsorted(onset)) >= EVALS for one in sets):
        return None
    if any(one.way != one.better for one in sets):
        return None
    told = f"validation rose {num(sets[0].first)} → {num(sets[0].now.value)} since its first evaluation"
    return Outcome("unmet" if test.falls else "met", told)


def _levels(one: MetricFacts, onset: int) -> tuple[float, float] | None:
    """The medians of the last evaluations before the onset and of the newest ones since; None if there are too few."""
    at = int(one.series.steps.searchsorted(onset))
    if at < EVALS or len(one.series) - at < EVALS:
        return None
    before, after = one.median_within(None, onset - 1, EVALS), one.median_after(onset, EVALS)
    return None if before is None or after is None else (before, after)


OF_VALIDATION: Mapping[type, Callable[[Look, Any, Spell], Outcome]] = {HeldOut: _held_out}
