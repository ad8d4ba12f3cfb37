"""Tests what causes expect of numbers: levels, changes, jumps, and what moves together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from rltui.diagnosis.outcome import (
    LEVEL_POINTS,
    Answer,
    Outcome,
    Spell,
    around,
    asked,
    fact_of,
    label_in,
    label_of,
    level_now,
    members,
    missing,
    value_of,
)
from rltui.evidence.effects import LIMIT, SHORT_LIMIT, SHORT_POINTS, Level, between
from rltui.evidence.look import FAMILIES, Look
from rltui.evidence.metric import FIRST, NOW_POINTS, MetricFacts
from rltui.evidence.one_length import CUT, one_length
from rltui.evidence.shifts import BESIDE, Shift, at_once, stands_on_both_sides, step_between, step_of_few
from rltui.frameworks.load import metrics
from rltui.frameworks.parts import is_task
from rltui.plots.numbers import change
from rltui.rules.bounds import NUMBERS
from rltui.rules.expectation import Jumped, LittleByLittle, MetricMoved, Outgrew, Stands

BESIDE_IT = 10
"""How many points give the level just before a step, and the level now."""
LATE = 0.3
"""For a finding of the first steps: what comes after this share of the time since is no cause of it."""
SET_OUT = 0.1
"""A metric has begun to move to a level once it has gone this share of the way."""
COUNTERS = "progress"
"""The group of metrics that only count up."""
AROUND = 10
"""The number of steps by which the onset of a fall may be dated too early or too late."""
JUST_BEFORE = 100
"""A jump may be the cause if it came at most so many steps before the onset: damage takes some tens of updates
to show."""


def _then(facts: MetricFacts, spell: Spell, points: int) -> Level | None:
    """The level since the onset, or of the newest points if the onset is not known."""
    return facts.within(spell.onset, spell.end, points)


def _moved(look: Look, test: MetricMoved, spell: Spell) -> Outcome:
    found = members(look, test.metric, spell)
    if test.extra:
        found = [one for one in found if not is_task(one[0])]
        if not found or _whole_reward(look, test.metric):
            return Outcome("unmet", f"no {label_of(test.metric)} beside the task is logged")
    tried = [_move(test, facts, label, spell) for label, facts in found]
    known = [one for one in tried if one is not None]
    met = {label: facts for (label, facts), one in zip(found, tried, strict=True) if one and one.answer == "met"}
    if test.metric in FAMILIES and met:
        most = max(met, key=lambda label: abs(met[label].end.value - met[label].start.value))
        outcome = next(one for (label, _), one in zip(found, tried, strict=True) if one and label == most)
        return Outcome(outcome.answer, outcome.text, outcome.weight, most)
    if not known:
        few = f"there are too few points of {label_in(look, test.metric)} before and after"
        return Outcome("unknown", few) if tried else missing(look, test.metric)
    order: tuple[Answer, ...] = ("met", "unknown", "unmet")
    return min(known, key=lambda one: order.index(one.answer))


def _whole_reward(look: Look, family: str) -> bool:
    """Whether the one part that is logged is the reward itself under another name, as most logs have it."""
    parts, reward = [facts for _, facts in members(look, family)], fact_of(look, look.reward)
    if len(parts) != 1 or reward is None or len(parts[0].values) != len(reward.values):
        return False
    return bool(np.allclose(parts[0].values, reward.values, rtol=1e-4, atol=1e-6))


def _move(test: MetricMoved, facts: MetricFacts, label: str, spell: Spell) -> Outcome | None:
    after = _then(facts, spell, NOW_POINTS)
    onset = spell.onset
    before = facts.before(onset) if onset is not None else None
    references = []
    if test.since != "start" and before is not None and before.points >= FIRST:
        references.append((before, f"since step {onset}"))
    if test.since != "onset" or not references:
        references.append((facts.start, "since the start"))
    found: Outcome | None = None
    for reference, since in references:
        if after is None or after.points < FIRST or after.first_step <= reference.last_step:
            continue
        one = _compared(test, reference, after, label, since, _beside_it(test, facts, spell, reference, after))
        if one.answer == "met" and reference is facts.start and (stood := _stood(test, facts, after, spell)):
            one = replace(one, answer="unknown", text=f"{label} {stood}", long=True)
        if one.answer == "met" and test.first and (late := _moved_later(facts, reference, after, spell)):
            one = replace(one, answer="unmet", text=f"{label} {late}")
        if found is None or (one.answer, found.answer) in (("met", "unmet"), ("met", "unknown"), ("unknown", "unmet")):
            found = one
    return found


def _stood(test: MetricMoved, facts: MetricFacts, after: Level, spell: Spell) -> str:
    """The words for a metric that moved since the start but had been at its level for so long before the onset that it
    explains nothing. Empty if it kept moving, by at least half of what the test asks."""
    if spell.onset is None:
        return ""
    until = spell.onset - max(JUST_BEFORE, spell.late)
    then = facts.median_within(None, until, NOW_POINTS)
    if then is None or until <= facts.start.last_step or abs(after.value - then) >= test.by * abs(then) / 2:
        return ""
    return f"was {value_of(facts.name, then)} by step {until}, long before, which proves nothing"


def _begun_by(facts: MetricFacts, spell: Spell, onset: int) -> int:
    """The step by which a metric must have begun to move if it is a cause: as far as the finding can be dated."""
    return onset + spell.early + spell.late + gap_before(facts, onset)


def _moved_later(facts: MetricFacts, before: Level, after: Level, spell: Spell) -> str:
    """The words for a metric that moved only after the finding had begun: a cause does not follow its effect. Empty if
    it had begun to move by then, as far as the finding can be dated."""
    if spell.onset is None:
        return ""
    by = _begun_by(facts, spell, spell.onset)
    then = facts.median_within(None, by, FIRST)
    if then is None or by >= after.first_step:
        return ""
    way = after.value - before.value
    if (then - before.value) * (1 if way > 0 else -1) >= SET_OUT * abs(way):
        return ""
    return f"was {value_of(facts.name, then)} by step {by}, and it began at step {spell.onset}"


def _beside_it(test: MetricMoved, facts: MetricFacts, spell: Spell, before: Level, after: Level) -> tuple[float, float]:
    """The values shown for a metric that moved: just before the onset, and at the end. The levels that decide are
    medians of many rows. They differ from the value at the named step if the metric moves all the time."""
    few = FIRST // 2 if facts.held_out else BESIDE_IT
    was = facts.median_within(None, before.last_step, few) if before is not facts.start else None
    now = facts.median_within(spell.onset, spell.end, few)
    was, now = before.value if was is None else was, after.value if now is None else now
    same_way = (now - was) * (after.value - before.value) > 0 and abs(now - was) >= test.by * abs(was)
    return (was, now) if same_way else (before.value, after.value)


def _compared(
    test: MetricMoved, before: Level, after: Level, label: str, since: str, told_of: tuple[float, float]
) -> Outcome:
    limit = SHORT_LIMIT if min(before.points, after.points) < SHORT_POINTS // 2 else LIMIT
    effect = between(before, after, limit)
    name = test.metric
    was, now, said = value_of(name, told_of[0]), value_of(name, told_of[1]), change(*told_of)
    told = f"{label} unchanged at {now} {since}" if was == now else f"{label} {was} → {now} {since} ({said})"
    if effect is None:
        return Outcome("unknown", told)
    if effect.value == 0.0 == effect.se:
        return Outcome("unmet", told)  # it stands to the last digit
    sign = 1 if test.way == "up" else -1
    wanted = test.by * abs(before.value)
    if effect.direction == sign and sign * effect.value >= wanted:
        return Outcome("met", told)
    if sign * effect.value + 2 * effect.se < wanted or effect.direction == -sign:
        return Outcome("unmet", told)
    return Outcome("unknown", f"{told}, which noise may hide or make")


def _jumped(look: Look, test: Jumped, spell: Spell) -> Outcome:
    facts = fact_of(look, test.metric)
    if facts is None:
        return missing(look, test.metric)
    label = label_of(facts.name)
    onset = spell.onset if spell.onset is not None else spell.end
    late, before = spell.late + spell.early, spell.late if spell.direct else JUST_BEFORE
    for shift in reversed(shifts_about(facts, onset, onset + late)):
        grown = shift.after - shift.before if test.way == "up" else shift.before - shift.after
        gap = gap_before(facts, shift.step)
        if test.within is not None and gap > test.within:
            continue
        if test.way == "up" and _ramps(facts, shift.step):
            continue
        near = onset - before <= shift.step <= onset + late + gap
        beside = 1 if test.one_row else _beside(facts)
        if test.one_row and not stands_on_both_sides(facts.values, facts.series.steps, shift):
            continue
        if near and grown > test.by * abs(shift.before) and at_once(facts.series, shift, beside):
            was, now = value_of(test.metric, shift.before), value_of(test.metric, shift.after)
            told = f"{label} {was} → {now} at step {shift.step}"
            return Outcome("met", told, at=shift.step)
    return Outcome("unmet", f"{label} did not {'rise' if test.way == 'up' else 'fall'} at once before step {onset}")


def _little_by_little(look: Look, test: LittleByLittle, spell: Spell) -> Outcome:
    facts = fact_of(look, test.metric)
    if facts is None or spell.onset is None:
        return missing(look, test.metric)
    for shift in shifts_about(facts, spell.onset, spell.onset + spell.late + spell.early):
        near = abs(shift.step - spell.onset) <= spell.late + spell.early
        far = abs(shift.after - shift.before) >= test.by * min(1.0, abs(shift.before) or 1.0)
        if near and far and stands_on_both_sides(facts.values, facts.series.steps, shift):
            was, now = value_of(facts.name, shift.before), value_of(facts.name, shift.after)
            return Outcome("unmet", f"{label_of(facts.name)} went {was} → {now} at once at step {shift.step}")
    return Outcome("met", f"{label_of(facts.name)} moved little by little")


def _ramps(facts: MetricFacts, step: int) -> bool:
    """Whether the metric has risen in every row since its first: a warm-up does not jump."""
    rows = facts.values[: int(facts.series.steps.searchsorted(step)) + 1]
    return len(rows) > 2 and bool((rows[1:] > rows[:-1]).all())


def shifts_about(facts: MetricFacts, onset: int, last: int) -> tuple[Shift, ...]:
    """The level shifts of a metric, and the clearest jump about an onset, because moving levels blur a shift."""
    found = step_between(facts.series, onset - AROUND, last, _beside(facts))
    if found is None and facts.held_out:
        found = step_of_few(facts.series, onset - AROUND, last)
    return facts.shifts if found is None else (*facts.shifts, found)


def _beside(facts: MetricFacts) -> int:
    """The points on each side of a jump: evaluations are few, and a fall over several of them is not a jump."""
    return 1 if facts.held_out else BESIDE


def gap_before(facts: MetricFacts, step: int) -> int:
    """The steps to the point before: what happened between two evaluations shows at the later one."""
    steps = facts.series.steps
    at = int(steps.searchsorted(step))
    return int(steps[at] - steps[at - 1]) if 0 < at < len(steps) else 0


def _outgrew(look: Look, test: Outgrew, spell: Spell) -> Outcome:
    found = [fact_of(look, name) for name in (test.metric, test.of)]
    levels = [around(facts, spell) for facts in found if facts is not None]
    if len(levels) < len(found):
        return missing(look, test.metric if found[0] is None else test.of)
    known = [value for pair in levels for value in pair if value is not None and value > 0]
    if len(known) < 2 * len(levels):
        return Outcome("unknown", f"there are too few points of {label_in(look, test.metric)} before and after")
    before, after, other_before, other_after = known
    told = [
        f"{label_in(look, name)} {value_of(name, was)} → {value_of(name, now)}"
        for name, was, now in ((test.metric, before, after), (test.of, other_before, other_after))
    ]
    more = after * other_before >= (1 + test.by) * before * other_after
    if test.metric.startswith("phase:"):  # its seconds are told where the step's are
        told = [f"with {told[1]}"]
    return Outcome("met" if more else "unmet", ", ".join(told))


def _stands(look: Look, test: Stands, spell: Spell) -> Outcome:
    found = members(look, test.metric, spell)
    if found and test.named:
        found = [one for one in found if test.named in one[0].lower()]
        if not found:
            return Outcome("unmet", f"no {label_of(test.metric)} is called {test.named}")
    outcomes = []
    for label, facts in found:
        level = _first(facts) if test.at == "start" else level_now(facts, spell, LEVEL_POINTS)
        if test.at == "best":
            level = None if facts.peak is None else facts.peak.value
        if test.at == "highest":
            level = float(facts.values.max())
        if test.at == "row" and spell.onset is not None:
            level = facts.median_within(None, spell.onset, 1)
        if level is not None:
            holds = NUMBERS[test.op](level, test.value)
            if holds and test.at == "then" and (late := _came_later(facts, test, spell)):
                outcomes.append(Outcome("unmet", f"{label} {late}"))
                continue
            places = {"start": " at the start", "best": " at its best", "highest": " at its highest"}
            when = f" at step {spell.onset}" if test.at == "row" else places.get(test.at, "")
            told = f"{label} is {value_of(test.metric, level)}{when}"
            limit = value_of(test.metric, test.value)
            outcomes.append(Outcome("met" if holds else "unmet", f"{told} ({asked(test.op, limit, holds)})"))
    if not outcomes:
        return _of_one_length(look, test, spell) or missing(look, test.metric)
    return next((one for one in outcomes if one.answer == "met"), outcomes[0])


def _of_one_length(look: Look, test: Stands, spell: Spell) -> Outcome | None:
    """Of a share of cut answers that is not logged: answers that all have one length are all cut. Those that came to
    it after the onset ended by themselves until then."""
    one = one_length(look) if test.metric == CUT else None
    if one is None or (test.at == "start" and not one.always):
        return None
    if test.at == "then" and spell.onset is not None and one.since > spell.onset + AROUND + spell.late:
        return Outcome("unmet", f"{one.told}, but only since step {one.since}")
    holds = NUMBERS[test.op](1.0, test.value)
    return Outcome("met" if holds else "unmet", one.told)


def _first(facts: MetricFacts) -> float:
    """Where it began; of a share, which counts few groups or answers a row, the mean of the first window, as tables
    have it."""
    meaning = metrics().get(facts.name)
    return facts.start.value if meaning is not None and meaning.unit == "fraction" else facts.first


def _came_later(facts: MetricFacts, test: Stands, spell: Spell) -> str:
    """What says that the level was reached after the finding began: a cause does not follow its effect. Empty if it
    had at least set out for it by then, and of a finding of the first steps, before which nothing was seen, unless the
    level was reached long after. What only counts up is dated exactly, and has to be there."""
    onset, meaning = spell.onset, metrics().get(facts.name)
    if onset is None:
        return ""
    if onset <= (first_rows := facts.start.first_step + spell.late):
        until = onset + int(LATE * (spell.end - onset))
        level = facts.median_within(None, until, FIRST)
        if level is None or until <= first_rows or NUMBERS[test.op](level, test.value):
            return ""
        return f"was {value_of(facts.name, level)} until step {until}, and it began at step {onset}"
    counts = meaning is not None and meaning.group == COUNTERS
    by = onset + spell.early if counts else _begun_by(facts, spell, onset)
    if counts and spell.early:
        by -= 1  # what an evaluation shows came of steps before it
    at_onset = facts.median_within(onset, by, 1 if counts else FIRST)
    if at_onset is None or NUMBERS[test.op](at_onset, test.value):
        return ""
    if not counts and _set_out(facts, at_onset, test.value, onset):
        return ""
    return f"was {value_of(facts.name, at_onset)} when it began, at step {onset}"


def _set_out(facts: MetricFacts, now: float, to: float, onset: int) -> bool:
    """Whether a metric had begun to move to a level: from its start, or from where it stood before the onset if it had
    gone the other way until then."""
    before = facts.before(onset)
    known = [facts.start.value] if before is None or before.points < FIRST else [facts.start.value, before.value]
    return any(abs(now - was) >= SET_OUT * abs(to - was) for was in known)


OF_NUMBERS: Mapping[type, Callable[[Look, Any, Spell], Outcome]] = {
    MetricMoved: _moved,
    Jumped: _jumped,
    LittleByLittle: _little_by_little,
    Outgrew: _outgrew,
    Stands: _stands,
}
