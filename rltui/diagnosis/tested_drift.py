"""Expectations of causes about where the first updates of a run led, tested on a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rltui.diagnosis.outcome import (
    DECISIVE,
    EXACT,
    LEVEL_POINTS,
    Outcome,
    Spell,
    fact_of,
    label_in,
    label_of,
    missing,
    value_of,
)
from rltui.diagnosis.tested_numbers import AROUND
from rltui.evidence.back_at_start import back_at_start
from rltui.evidence.effects import between
from rltui.evidence.look import Look
from rltui.evidence.loss_terms import times_of_penalty
from rltui.evidence.signal import num
from rltui.evidence.steady_drift import FIRST_STEPS, rose_meanwhile, steady_drift
from rltui.evidence.unmoving import standing
from rltui.evidence.went_up import LEAST_ROWS, went_up
from rltui.plots.numbers import change
from rltui.rules.base import side_by_side
from rltui.rules.expected_drift import AlwaysEqual, IsPenalty, Retraced, Stays, Steady, WeightsStand, WentUp


def _steady(look: Look, test: Steady, spell: Spell) -> Outcome:
    began = look.facts.clock.first_step
    if spell.onset is None or spell.onset > began + FIRST_STEPS:
        return Outcome("unknown", "the first steps say nothing of what began later")
    found = steady_drift(look.series("kl_ref"), look.series("grad_norm"))
    if found is None:
        return Outcome("unknown", "KL to reference and gradient norm of the first steps are not logged")
    led = "rose little by little, and the gradient shrank" if found else "leapt, or the gradient did not shrink"
    told = f"in the first {FIRST_STEPS} steps the KL to the reference {led}"
    if not test.rose or found != test.holds:
        return Outcome("met" if found == test.holds else "unmet", told)
    rose = rose_meanwhile(look.series(test.rose))
    if rose is None:
        return missing(look, test.rose)
    told += f", while {label_of(test.rose)} went {change(1.0, 1.0 + rose)} from its first rows"
    return Outcome("met" if rose >= test.by else "unmet", told)


def _went_up(look: Look, test: WentUp, spell: Spell) -> Outcome:
    facts = fact_of(look, test.metric)
    if facts is None:
        return missing(look, test.metric)
    label, x = label_of(facts.name), facts.values
    now = facts.now.value
    found = went_up(x, now, test.times) if len(x) >= LEAST_ROWS and now > 0 else None
    step = None if found is None else int(facts.series.steps[found[0]])
    if found is None or step is None or spell.onset is None or abs(step - spell.onset) > AROUND + spell.late:
        return Outcome("unmet", f"{label} did not go to another level within few rows")
    was, is_ = value_of(test.metric, found[1]), value_of(test.metric, now)
    return Outcome("met", f"{label} went {was} → {is_} within some rows of step {step}", at=step)


def _is_penalty(look: Look, test: IsPenalty, spell: Spell) -> Outcome:
    known = False
    for name in ("total_loss", "pg_loss"):
        times = times_of_penalty(*side_by_side(look, name, "kl_ref"))
        if times:
            told = f"{label_of(name)} is {num(times)} times the KL to the reference in all rows"
            return Outcome("met" if test.holds else "unmet", told)
        known |= times is not None
    if not known:
        return Outcome("unknown", "loss and KL to the reference are not logged together")
    return Outcome("unmet" if test.holds else "met", "the loss is more than the KL to the reference times one number")


def _weights_stand(look: Look, test: WeightsStand, spell: Spell) -> Outcome:
    found = standing(look)
    if found.holds is None:
        return Outcome("unknown", found.told)
    return Outcome("met" if found.holds else "unmet", found.told, EXACT if found.exact else DECISIVE)


def _stays(look: Look, test: Stays, spell: Spell) -> Outcome:
    facts = fact_of(look, test.metric)
    if facts is None:
        return missing(look, test.metric)
    label, onset = label_of(facts.name), spell.first if spell.onset is None else spell.onset
    middle = (onset + spell.end) // 2
    halves = facts.within(onset, middle, look.n), facts.within(middle + 1, spell.end, look.n)
    effect = None if halves[0] is None or halves[1] is None else between(halves[0], halves[1])
    if effect is None or halves[0] is None or halves[1] is None or halves[0].points < LEVEL_POINTS:
        return Outcome("unknown", f"there are too few points of {label} since step {onset}")
    limit, told = test.by * abs(halves[0].value), f"{label} stays at {value_of(test.metric, halves[1].value)}"
    if abs(effect.value) + 2 * effect.se <= limit:
        return Outcome("met", f"{told} since step {onset}")
    moved = f"{label} {value_of(test.metric, halves[0].value)} → {value_of(test.metric, halves[1].value)}"
    if abs(effect.value) - 2 * effect.se > limit:
        return Outcome("unmet", f"{moved} since step {onset}")
    return Outcome("unknown", f"{moved} since step {onset}, which noise may hide or make")


TOLD = 5
"""Half the number of rows whose median gives a level on the way."""


def _retraced(look: Look, test: Retraced, spell: Spell) -> Outcome:
    facts, score = fact_of(look, test.metric), fact_of(look, "score_mean")
    if facts is None or score is None:
        return missing(look, test.metric if facts is None else "score_mean")
    before = None if spell.onset is None else facts.before(spell.onset, LEVEL_POINTS)
    best = None if spell.onset is None else score.before(spell.onset, LEVEL_POINTS)
    at = None if spell.onset is None or best is None else back_at_start(score, spell.onset, best.value)
    if before is None or at is None:
        known = f"{label_in(look, 'score_mean')} had gained nothing before, or is not back at its start"
        return Outcome("unknown", known)
    then = facts.within(spell.onset, at, 2 * TOLD)
    effect = None if then is None else between(before, then)
    if then is None or effect is None:
        return missing(look, test.metric)
    told = f"{label_of(facts.name)} went {value_of(test.metric, before.value)} → {value_of(test.metric, then.value)} "
    told += f"until {label_in(look, 'score_mean')} was back near its start, at step {at}"
    met = effect.direction < 0 and -effect.value >= test.by * before.value
    return Outcome("met" if met else "unmet", told)


def _always_equal(look: Look, test: AlwaysEqual, spell: Spell) -> Outcome:
    one, other = side_by_side(look, test.metric, test.of)
    if len(one) < LEAST_ROWS:
        return missing(look, test.metric if look.series(test.metric) is None else test.of)
    alike = bool((one == other).all())
    told = f"{label_of(test.metric)} and {label_of(test.of)} are {'the same number' if alike else 'different'}"
    return Outcome("met" if alike else "unmet", f"{told} in every row" if alike else told, EXACT)


OF_DRIFT: Mapping[type, Callable[[Look, Any, Spell], Outcome]] = {
    IsPenalty: _is_penalty,
    Steady: _steady,
    WentUp: _went_up,
    WeightsStand: _weights_stand,
    AlwaysEqual: _always_equal,
    Stays: _stays,
    Retraced: _retraced,
}
