"""Tests what causes expect of where the time of a step goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from typing import Any

from rltui.diagnosis.outcome import LEVEL_POINTS, Outcome, Spell, around, label_of, missing
from rltui.evidence.look import Look
from rltui.evidence.signal import num
from rltui.frameworks.load import phases
from rltui.plots.numbers import change
from rltui.rules.expectation import EveryPhase, Explains, Took

SLOWER = 1.1
"""From this factor on, a slower step needs an explanation."""
COUNTS, PHASES, MOST = 0.05, 2, 0.8
"""The share of a step from which on a phase counts; the number of phases that "all of them" needs; and the share of
their seconds that the slower ones must have, because a short phase may be spared."""
TOKENS = ("prompt_length_mean", "response_length_mean", "total_tokens_step")
"""Metrics that make every phase slower if they grow."""


def _slower(look: Look, spell: Spell) -> tuple[float, float] | None:
    """The seconds of a step before and since the onset; None without a timer."""
    facts = look.facts.metric("time_per_step_s")
    if facts is None:
        return None
    before, after = around(facts, spell)
    return None if after is None else (before, after)


def _seen_before(look: Look, onset: int) -> bool:
    """Whether steps were timed for long enough before the onset to show what was usual."""
    facts = look.facts.metric("time_per_step_s")
    return facts is not None and facts.median_before(onset, LEVEL_POINTS) is not None


def _took(look: Look, test: Took, spell: Spell) -> Outcome:
    step = _slower(look, spell)
    timed = [(name, facts) for name in test.phases if (facts := look.facts.metric(f"phase:{name}")) is not None]
    if step is None or not timed:
        return missing(look, "time_per_step_s" if step is None else f"phase:{test.phases[0]}")
    levels = [around(facts, spell) for _, facts in timed]
    was = sum(before for before, _ in levels)
    now = sum(after or 0.0 for _, after in levels)
    label = phases()[timed[0][0]].label
    extra = step[1] - step[0]
    if step[1] >= SLOWER * step[0] and extra > 0:
        part = "all" if num(now - was) == num(extra) or now - was >= extra else num(now - was)
        told = f"{label} takes {num(now)} s, {num(was)} s before: {part} of {num(extra)} s more a step"
        return Outcome("met" if now - was >= test.share * extra else "unmet", told)
    told = f"{label} takes {num(now)} of {num(step[1])} s a step"
    if step[1] <= 0 or now < test.share * step[1]:
        return Outcome("unmet", told)
    alike = step[0] > 0 and was >= test.share * step[0] and now * step[0] < SLOWER * was * step[1]
    if spell.onset is not None and alike and _seen_before(look, spell.onset):
        return Outcome("unknown", f"{told}, as before step {spell.onset}")  # what was so before began nothing
    return Outcome("met", told)


def _every_phase(look: Look, test: EveryPhase, spell: Spell) -> Outcome:
    step = _slower(look, spell)
    timed = {name: facts for name in test.phases if (facts := look.facts.metric(f"phase:{name}")) is not None}
    levels = {name: around(facts, spell) for name, facts in timed.items()}
    if step is None or len(levels) < PHASES:
        return Outcome("unknown", "fewer than two phases of a step are timed")
    counted = {
        name: now / was
        for name, (was, now) in levels.items()
        if now is not None and was > 0 and was >= COUNTS * step[0]
    }
    slower = step[1] / step[0] if step[0] > 0 else 1.0
    if slower < SLOWER or len(counted) < PHASES:
        return Outcome("unknown", f"step time {num(slower)} times, {len(counted)} phases that count")
    told = ", ".join(f"{phases()[name].label} {num(times)} times" for name, times in counted.items())
    grown = [one for name in TOKENS if (one := _explains(look, Explains(name, share=0.5), spell)).answer == "met"]
    if grown:
        return Outcome("unmet", grown[0].text)
    hit = {name: times for name, times in counted.items() if times >= SLOWER and log(times) >= 0.5 * log(slower)}
    spared = sum(levels[name][0] for name in counted if name not in hit)
    enough = spared <= (1.0 - MOST) * sum(levels[name][0] for name in counted)
    alike = len(hit) >= PHASES and enough and all(log(times) <= 2.0 * log(slower) for times in counted.values())
    return Outcome("met" if alike else "unmet", f"step time {num(slower)} times, {told}")


def _explains(look: Look, test: Explains, spell: Spell) -> Outcome:
    step, facts = _slower(look, spell), look.facts.metric(test.metric)
    if step is None or facts is None:
        return missing(look, "time_per_step_s" if step is None else test.metric)
    before, after = around(facts, spell)
    if not before or not after or min(before, after, *step) <= 0:
        return Outcome("unknown", f"{label_of(test.metric)} has no level to compare")
    times, slower = after / before, step[1] / step[0]
    told = (
        f"{label_of(test.metric)} {num(before)} → {num(after)} ({change(before, after)}), step time {num(slower)} times"
    )
    if slower < SLOWER:
        return Outcome("unknown", told)
    return Outcome("met" if log(times) >= test.share * log(slower) else "unmet", told)


OF_STEP_TIME: Mapping[type, Callable[[Look, Any, Spell], Outcome]] = {
    Took: _took,
    EveryPhase: _every_phase,
    Explains: _explains,
}
