"""Tests what causes expect of the courses of metrics: which held, moved, became noisy, faded or rose again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from rltui.diagnosis.outcome import (
    EXACT,
    REWARDS,
    Answer,
    Outcome,
    Spell,
    asked_of,
    fact_of,
    label_of,
    members,
    missing,
    value_of,
)
from rltui.diagnosis.tested_numbers import AROUND, JUST_BEFORE, gap_before, shifts_about
from rltui.evidence.earlier_policy import stood_together
from rltui.evidence.effects import Level, between, greatest, highest, lowest, noise_around
from rltui.evidence.look import Look
from rltui.evidence.metric import FIRST, NOW_POINTS, MetricFacts
from rltui.evidence.never_rose import never_rose
from rltui.evidence.signal import WARNING, num
from rltui.frameworks.parts import is_task
from rltui.plots.numbers import change
from rltui.prose import listed
from rltui.rules.expectation import (
    Calm,
    Faded,
    HeldLevel,
    NeverRose,
    Noisier,
    NoneMoved,
    Retained,
    RoseAgain,
    UnlikeSet,
    WentBack,
)

AT_ONCE = 3
"""The rows on each side of a step within which a policy shows that it went back."""
SET_OUT = 2.5
"""Times the median of the rows before: a KL that rises all the time is not so far above it (twice at most,
on a straight way from 0)."""
ROOM = 0.5
"""By this share of its level the number of an update may exceed those before."""
UPDATES = 3
"""Newest rows whose updates may have changed the answers of a row: its own update comes after them, and dates err."""
FEW = 3
"""Rows before a step that show where a metric with a trend was."""
CLEAR = 4.0
"""The least change of a metric, in multiples of its noise."""
OVER = 1.4
"""A metric that went further than this share of the way back did not go back: it fell."""
AWAY = 2.0
"""The factor by which a metric must have changed to have left its level."""
STILL = 0.5
"""Share of its level by which the metric of a note must have moved to count as the beginning of something."""
VERY_FIRST = 3
"""The rows that show where a metric began. The loss of a critic that learns falls within ten rows, before any window of
the start ends."""
BEGINS = 10
"""The number of points that give the level at an onset."""


def stood_still(look: Look, own: Spell, spell: Spell) -> str:
    """Why another finding explains nothing: its metric is where it was long before the finding. For a note of the first
    steps: its metric had not moved when the finding began. Empty if it may explain the finding."""
    facts = fact_of(look, own.moved) if own.moved else None
    if facts is None or spell.onset is None or own.onset is None:
        return ""
    if own.onset < spell.onset - JUST_BEFORE:
        before, after = facts.before(spell.onset - JUST_BEFORE), facts.within(spell.onset, spell.end, NOW_POINTS)
        return _where_it_was(facts, before, after, "was {} " + f"{JUST_BEFORE} steps before and is {{}}")
    if own.onset > facts.start.last_step or own.level >= WARNING:
        return ""
    before = facts.within(None, (facts.start.first_step + spell.onset) // 2, NOW_POINTS)
    after = facts.within(None, spell.onset + spell.late, BEGINS)
    return _where_it_was(facts, before, after, "was {} at the start and {} as it began")


def _where_it_was(facts: MetricFacts, before: Level | None, after: Level | None, words: str) -> str:
    """Both levels in words, if they are the same. Empty if they are not, or if there are too few points."""
    if before is None or after is None or after.first_step <= before.last_step:
        return ""
    effect = between(before, after)
    if effect is None or (effect.direction and abs(effect.value) >= STILL * abs(before.value)):
        return ""
    said = words.format(*(value_of(facts.name, level.value) for level in (before, after)))
    return f"{label_of(facts.name)} {said}"


def set_out_before(look: Look, own: Spell, first: int, last: int) -> str:
    """The words that show that the metric of a finding that is dated later had left its level by step `last`, compared
    with its level before step `first`: by a factor of two. If a metric grows ever faster, its date moves later with
    each row. Empty if it had not."""
    facts = fact_of(look, own.moved) if own.moved and own.onset is not None else None
    before = None if facts is None else facts.before(first)
    after = None if facts is None else facts.within(None, last, FIRST)
    now = None if facts is None or own.onset is None else facts.within(own.onset, own.end, NOW_POINTS)
    if facts is None or before is None or after is None or now is None or before.points < FIRST:
        return ""
    effect, onward = between(before, after), between(after, now)
    if effect is None or onward is None or not effect.direction or effect.direction != onward.direction:
        return ""
    low, high = sorted((abs(before.value), abs(after.value)))
    if high < AWAY * low:
        return ""
    was, then = (value_of(facts.name, level.value) for level in (before, after))
    return f"{label_of(facts.name)} had gone {was} → {then} by step {after.last_step}"


def _held(look: Look, test: HeldLevel, spell: Spell) -> Outcome:
    facts = fact_of(look, test.metric)
    if facts is None:
        return missing(look, test.metric)
    label = label_of(facts.name)
    before, end = facts.start, spell.end
    if test.since == "onset" and spell.onset is not None:
        before = facts.before(spell.onset) or before
        steps = facts.series.steps
        end = min(end, int(steps[min(int(steps.searchsorted(spell.onset)) + NOW_POINTS, len(steps)) - 1]))
    after = facts.within(spell.onset, end, NOW_POINTS)
    gone = test.since == "start" and spell.onset is not None and (after is None or after.points < FIRST)
    if gone and spell.onset is not None:
        after = facts.before(spell.onset)  # what was told since is left out: it had moved by then, or nobody knows
    if after is None or min(before.points, after.points) < FIRST or after.first_step <= before.last_step:
        return Outcome("unknown", f"there are too few points of {label} before and after")
    effect, room = between(before, after), test.by * abs(before.value)
    was, now = (value_of(test.metric, level.value) for level in (before, after))
    since = f"at step {spell.onset}" if test.since == "onset" and spell.onset is not None else "since the start"
    told = f"{label} {was} → {now} {since} ({change(before.value, after.value)})"
    first = facts.median_within(None, int(facts.series.steps[:VERY_FIRST][-1]), VERY_FIRST)
    if before is facts.start and first is not None and abs(first - after.value) > room + CLEAR * facts.noise:
        return Outcome("unmet", f"{label} {value_of(test.metric, first)} → {now} since the first rows")
    if effect is None or room <= 0:
        return Outcome("unknown", told)
    if abs(effect.value) + 2 * effect.se <= room:
        return Outcome("unknown" if gone else "met", told)
    if abs(effect.value) - 2 * effect.se >= room:
        return Outcome("unmet", told)
    return Outcome("unknown", f"{told}, which noise may hide or make")


def _none_moved(look: Look, test: NoneMoved, spell: Spell) -> Outcome:
    found = members(look, test.metric, spell)
    if len(found) < 2:
        return missing(look, test.metric)
    if test.task and not (found := [one for one in found if is_task(one[0])]):
        return Outcome("unknown", "none of its parts is the task")
    told, sign, moved = [], 1 if test.way == "up" else -1, False
    for label, facts in found:
        before = facts.start if spell.onset is None else facts.before(spell.onset)
        after = facts.within(spell.onset, spell.end, NOW_POINTS)
        effect = None if before is None or after is None else between(before, after)
        if before is None or after is None or effect is None:
            return Outcome("unknown", f"there are too few points of {label} before and after")
        moved |= effect.direction == sign and abs(effect.value) >= test.by * abs(before.value)
        told.append(f"{label} {value_of(test.metric, before.value)} → {value_of(test.metric, after.value)}")
    return Outcome("unmet" if moved else "met", ", ".join(told))


def _noisier(look: Look, test: Noisier, spell: Spell) -> Outcome:
    if spell.onset is None:
        return Outcome("unknown", "since when it is so is not known")
    found = members(look, test.metric, spell)
    if not found:
        return missing(look, test.metric)
    tried = [
        (levels, label) for label, facts in found if (levels := noise_around(facts.series, spell.onset, spell.end))
    ]
    if not tried:
        return Outcome("unknown", f"there are too few points of {found[0][0]} before and after")
    (was, now), label = max(tried, key=lambda one: one[0][1] - test.times * one[0][0])
    told = f"{label} jumps by {num(now)} from row to row, {num(was)} before step {spell.onset}"
    return Outcome("met" if now >= test.times * was > 0 else "unmet", told)


def _faded(look: Look, test: Faded, spell: Spell) -> Outcome:
    facts = fact_of(look, test.metric)
    if facts is None:
        return missing(look, test.metric)
    onset = spell.onset if spell.onset is not None else spell.end
    at = int(facts.series.steps.searchsorted(onset))
    if at < FIRST:
        return Outcome("unknown", f"there are too few points of {label_of(facts.name)} before step {onset}")
    most, low = float(facts.values[:at].max()), float(facts.values[at - FIRST : at].max())
    told = f"{label_of(facts.name)} {value_of(test.metric, most)} → {value_of(test.metric, low)} before step {onset}"
    return Outcome("met" if low <= test.share * most else "unmet", told)


WRITTEN = ("response_length_mean", "entropy")
"""Metrics of the answers of a row before anybody grades them."""
OTHERWISE = 0.25
"""The share of its level by which one of them must change to show that the answers themselves changed."""


def _written_otherwise(look: Look, test: Calm, step: int) -> Outcome | None:
    """The words that show that the answers of the row themselves changed, and not their grading."""
    if test.metric not in REWARDS:
        return None
    for name in WRITTEN:
        facts = fact_of(look, name)
        before = None if facts is None else facts.before(step, BEGINS)  # of many rows, a course hides a leap
        now = None if facts is None else facts.median_within(step, step + AT_ONCE * look.facts.clock.stride, AT_ONCE)
        if facts is None or before is None or before.points < FIRST or now is None:
            continue
        if abs(now - before.value) > max(CLEAR * facts.noise, OTHERWISE * abs(before.value)):
            was, is_ = value_of(name, before.value), value_of(name, now)
            return Outcome("unmet", f"{label_of(name)} went {was} → {is_} at step {step} too", at=step)
    return None


def _rose_again(look: Look, test: RoseAgain, spell: Spell) -> Outcome:
    facts = fact_of(look, test.metric)
    if facts is None:
        if not look.restarts(look.n):
            return Outcome("unmet", "the run was not resumed")
        return missing(look, test.metric)
    onset = spell.onset if spell.onset is not None else spell.end
    steps, values, label = facts.series.steps, facts.values, label_of(facts.name)
    first = int(steps.searchsorted(onset - JUST_BEFORE))
    last = int(steps.searchsorted(onset + spell.late + spell.early, "right"))
    if last <= first:
        return Outcome("unknown", f"there are too few points of {label} before step {onset}")
    low = lowest(values, first, last)
    beside = min(greatest(values, 0, low), greatest(values, low + 1, last))
    if beside <= 0 or values[low] > test.share * beside:
        return Outcome("unmet", f"{label} did not rise again before step {onset}")
    top = highest(values, low + 1, max(last, int(steps.searchsorted(spell.end, "right"))))
    before, again = greatest(values, 0, low), float(values[top])
    course = " → ".join(value_of(test.metric, value) for value in (before, float(values[low]), again))
    told = f"{label} {course}, from step {steps[low + 1]} to {steps[top]}"
    return Outcome("met", told, EXACT, at=int(steps[low + 1]))


def _calm(look: Look, test: Calm, spell: Spell) -> Outcome:
    found = _as_before(look, test, spell)
    if test.holds:
        return found
    answer: Answer = "unmet" if found.answer == "met" else "unknown"
    if found.answer == "unmet" and found.at is not None:
        answer = "met"
    return replace(found, answer=answer)


def _as_before(look: Look, test: Calm, spell: Spell) -> Outcome:
    """Whether the updates up to the row in which the metric changed at once were like those before."""
    facts = fact_of(look, test.metric)
    if facts is None:
        return missing(look, test.metric)
    onset = spell.onset if spell.onset is not None else spell.end
    last = onset + spell.late + spell.early
    near = [
        shift
        for shift in shifts_about(facts, onset, last)
        if onset - JUST_BEFORE <= shift.step <= last + gap_before(facts, shift.step)
    ]
    if not near:
        return Outcome("unmet", f"{label_of(facts.name)} did not change at once about step {onset}")
    step, told = near[-1].step, []
    for name in test.updates:
        update, logged = fact_of(look, name), look.logged(name)
        if logged is not None and not np.isfinite(logged.values[logged.steps == step]).all():
            return Outcome("unmet", f"{label_of(name)} of step {step} is no number", at=step)
        band = None if update is None else update.before(step)
        if update is None or band is None or band.points < FIRST:
            continue
        at = int(update.series.steps.searchsorted(step))
        if at >= len(update.series) or update.series.steps[at] != step:
            continue
        just_before = update.median_within(None, step - 1, FEW) if name == test.place else None
        usual = band.value if just_before is None else max(band.value, just_before)  # where it is rises all the time
        if usual > SET_OUT * band.value > 0.0 and usual > band.value + CLEAR * update.noise:
            text = f"{label_of(name)} had set out before: {value_of(name, usual)} ({value_of(name, band.value)} before)"
            return Outcome("unmet", text, at=step)
        newest = update.values[max(0, at - UPDATES + 1) : at + 1]
        now, room = float(newest.max()), max(CLEAR * update.noise, ROOM * abs(usual))
        told.append(f"{label_of(name)} {value_of(name, now)} ({value_of(name, usual)} before)")
        if now > usual + room:
            return Outcome("unmet", f"the update before step {step} was none of the usual: {told[-1]}", at=step)
    if (other := _written_otherwise(look, test, step)) is not None:
        return other
    placed = fact_of(look, test.place) is not None
    held = [] if placed else [_held(look, HeldLevel(name, test.by), spell) for name in test.policy]
    moved = next((one for one in held if one.answer != "met"), None)
    if not told:
        return moved or (held[-1] if held else missing(look, test.updates[0]))
    said = f"after updates as before: {', '.join(told)}"
    return Outcome("met" if moved is None else "unknown", said if moved is None else moved.text, at=step)


def _went_back(look: Look, test: WentBack, spell: Spell) -> Outcome:
    onset = spell.onset if spell.onset is not None else spell.end
    gone = {name: facts for name in test.metrics if (facts := fact_of(look, name)) and _far(facts, onset)}
    if len(gone) < 2 or (test.led not in gone and fact_of(look, test.led) is not None):
        return Outcome("unknown", f"too little had moved away from the start before step {onset}")
    last = onset + spell.late + spell.early
    steps = next(iter(gone.values())).series.steps
    near = steps[int(steps.searchsorted(onset - AROUND)) : int(steps.searchsorted(last, "right"))]
    told: dict[str, str] = {}
    for step in near.tolist():
        back = {name: text for name, facts in gone.items() if (text := _back(facts, step, onset, test.share))}
        if len(back) > len(told) and (test.led not in gone or test.led in back):
            told, at = back, step
    if len(told) < 2:
        return Outcome("unmet", f"nothing went back to its start about step {onset}")
    led = gone.get(test.led)
    if led is not None and not _in_one_row(led, at):
        return Outcome("unmet", f"{label_of(led.name)} went back in several rows, as updates do", at=at)
    if not stood_together([gone[name] for name in told], at):
        names = listed([label_of(name) for name in told])
        return Outcome("unmet", f"at no step before step {at} did {names} stand where they stand since", at=at)
    return Outcome("met", f"at step {at} back towards the start: {', '.join(told.values())}", EXACT, at=at)


def _in_one_row(facts: MetricFacts, step: int) -> bool:
    """Whether most of the way from one level to the other lies between two rows: loaded weights take effect at once."""
    at = int(facts.series.steps.searchsorted(step))
    x = facts.values[max(0, at - AT_ONCE - 1) : at + AROUND]
    way = x[0] - x[-1]
    return len(x) > 1 and float((-np.diff(x) * np.sign(way)).max()) >= 0.5 * abs(way)


def _far(facts: MetricFacts, onset: int) -> bool:
    """Whether a metric had moved away from its start, beyond its noise."""
    before = facts.before(onset - AROUND, NOW_POINTS // 2)
    return before is not None and before.points >= FIRST and abs(before.value - facts.first) > CLEAR * facts.noise


def _back(facts: MetricFacts, step: int, onset: int, share: float) -> str:
    """The levels before and after a step, if the metric went back to its start between them; else empty."""
    steps = facts.series.steps
    last = int(steps[min(int(steps.searchsorted(step)) + AT_ONCE, len(steps)) - 1])
    before, now = facts.before(step, AT_ONCE), facts.median_within(step, last, AT_ONCE)
    away = facts.before(onset - AROUND, NOW_POINTS // 2)
    if before is None or now is None or away is None:
        return ""
    if abs(before.value - away.value) > (1.0 - share) * abs(away.value - facts.first):
        return ""  # it was elsewhere already
    way = (before.value - now) / (away.value - facts.first)
    if not share <= way <= OVER or abs(before.value - now) < CLEAR * facts.noise:
        return ""
    return f"{label_of(facts.name)} {value_of(facts.name, before.value)} → {value_of(facts.name, now)}"


def _retained(look: Look, test: Retained, spell: Spell) -> Outcome:
    known = asked_of(look, test.metric, spell)
    if known is None:
        return missing(look, test.metric)
    label, facts = known
    start, now = facts.start.value, facts.now.value
    told = f"{label} {value_of(test.metric, start)} → {value_of(test.metric, now)} since the start"
    return Outcome("met" if now >= test.share * start else "unmet", told)


def _never_rose(look: Look, test: NeverRose, spell: Spell) -> Outcome:
    facts = fact_of(look, test.metric)
    if facts is None:
        return missing(look, test.metric)
    label, met = label_of(facts.name), never_rose(facts, test.share)
    if met is None:
        return Outcome("unknown", f"the first steps of {label} are not known")
    told = f"{label} fell from its first rows on: {value_of(test.metric, facts.first)} → "
    told += value_of(test.metric, facts.now.value)
    return Outcome("met", told) if met else Outcome("unmet", f"{label} did not fall from its first rows on")


FIRST_ROWS = 20
"""The rows that show the rate in use after its warm-up (as `jump_rows` of the rule)."""


def _unlike_set(look: Look, test: UnlikeSet, spell: Spell) -> Outcome:
    facts, told = fact_of(look, test.metric), look.settings.number(test.metric)
    if facts is None:
        return missing(look, test.metric)
    if not told:
        return Outcome("unknown", "the config does not say")
    highest = float(facts.values[:FIRST_ROWS].max())
    shown = f"the log shows {value_of(test.metric, highest)}"
    return Outcome("met", shown) if highest >= test.times * told else Outcome("unmet", f"{shown}, as set")


OF_COURSES: Mapping[type, Callable[[Look, Any, Spell], Outcome]] = {
    HeldLevel: _held,
    NoneMoved: _none_moved,
    Noisier: _noisier,
    Faded: _faded,
    RoseAgain: _rose_again,
    UnlikeSet: _unlike_set,
    Calm: _calm,
    WentBack: _went_back,
    Retained: _retained,
    NeverRose: _never_rose,
}
