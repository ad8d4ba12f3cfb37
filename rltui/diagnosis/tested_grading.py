"""Tests what causes expect of the reward: that it pays for nothing in the answers, or for the opposite of the task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from rltui.diagnosis.outcome import EXACT, Outcome, Spell, fact_of, label_in, label_of, missing, value_of
from rltui.diagnosis.tested_numbers import AROUND
from rltui.evidence.alike_prompts import alike_prompts
from rltui.evidence.look import Look
from rltui.evidence.metric import FIRST, NOW_POINTS, MetricFacts
from rltui.evidence.one_score import BOUNDS, LENGTH, one_score, one_value
from rltui.evidence.signal import num
from rltui.evidence.stretches import SEVERAL
from rltui.evidence.trends import mirrored, upside_down
from rltui.evidence.turned import turned
from rltui.plots.numbers import percent
from rltui.rules.base import PARTS
from rltui.rules.expected_grading import BecameAlike, ByChance, GaveOneScore, Opposed, PartTurned, Stopped, UpsideDown
from rltui.run.table import Floats, Ints

AGREE = 0.05
"""Share of groups of coin tosses that agree, up to which groups of a real task, some hard and some easy, agree far more
often: of pass rates spread evenly over 0..1 every fifth group of 8 does."""
TWICE, ROOM = 2.0, 0.01
"""Times that share, and what the noise of a batch adds to it."""
SPREAD = 0.9
"""Share of the spread of coin tosses that groups show at least. Pass rates spread evenly over 0..1 show three
quarters."""
MOST_SPREAD = 1.1
"""Of the spread of coin tosses (of n - 1) that groups of right and wrong answers show at most. Sums of parts show more,
or less, and seldom agree whatever they pay for."""
WHOLE, NEAR = (0.0, 1.0), 0.15
"""What both add up to if the reward is the score upside down (its negative, or what is missing to 1), and by how much
the prompts of training may be harder or easier: a reward that is farmed adds up to anything."""
PERCENT = 100.0
"""The same of a score in percent."""
TIMES_USUAL = 3
"""A metric is no longer logged if nothing came for this many times the longest gap between two of its numbers."""
LOST = 0.5
"""The task must lose at least this share of its level at the start."""


def _by_chance(look: Look, test: ByChance, spell: Spell) -> Outcome:
    reward, spread = fact_of(look, "score_mean"), look.facts.metric("reward_std")
    share, size = look.facts.metric("frac_reward_zero_std"), look.settings.group_size
    level, apart, agree = (_level(facts, spell) for facts in (reward, spread, share))
    if size is None or level is None:
        return Outcome("unknown", "the config does not say the group size") if size is None else missing(look, "score")
    if agree is None or apart is None:
        return missing(look, "frac_reward_zero_std" if agree is None else "reward_std")
    if not 0.0 < level < 1.0:
        return Outcome("unknown", f"{label_in(look, 'score_mean')} is no share")
    varied = sum(bool(np.ptp(part.values) > 0) for part in look.family(PARTS).values())
    if varied > 1 or apart > MOST_SPREAD * sqrt(level * (1.0 - level) * size / (size - 1)):
        return Outcome("unknown", f"{label_in(look, 'score_mean')} is not right or wrong alone")
    toss = level**size + (1.0 - level) ** size
    told = f"{percent(agree)} of the groups agree, {percent(toss)} do by the toss of a coin"
    if toss > AGREE:
        return Outcome("unknown", told)
    alike = agree <= TWICE * toss + ROOM and apart >= SPREAD * sqrt(level * (1.0 - level))
    return Outcome("met" if alike else "unmet", told)


def _alike_prompts(look: Look, test: BecameAlike, spell: Spell) -> Outcome:
    found = alike_prompts(look)
    if found is None:
        return Outcome("unknown", "the spread within groups does not show whether prompts differ less than before")
    told = f"groups show {percent(found.now)} of the spread of coin tosses since step {found.since}, "
    told += f"{percent(found.before)} before"
    near = spell.onset is None or abs(found.since - spell.onset) <= AROUND + spell.early + spell.late
    return Outcome("met" if near else "unmet", told)


def _level(facts: MetricFacts | None, spell: Spell) -> float | None:
    return None if facts is None else facts.median_within(spell.onset, spell.end, NOW_POINTS)


def _one_score(look: Look, test: GaveOneScore, spell: Spell) -> Outcome:
    tried = [one_score(name, look.logged, spell.end) for name in dict.fromkeys((look.reward, *BOUNDS))]
    found = max((one for one in tried if one is not None), key=lambda one: one.rows, default=None)
    if found is None or found.rows < SEVERAL or not _about(found.since, spell):
        return _one_part(look, spell)
    told = f"every answer got {num(found.value)} in {found.rows} rows since step {found.since}"
    if found.lengths is None:
        return missing(look, LENGTH)
    low, high = (num(length) for length in found.lengths)
    return Outcome("unmet" if found.alike else "met", f"{told}, while {label_of(LENGTH)} is {low} to {high}")


def _one_part(look: Look, spell: Spell) -> Outcome:
    """Whether one part of the reward is the same number since about the onset, and not its highest, as if solved."""
    for name, series in look.family(PARTS).items():
        found = one_value(series, spell.end)
        below = found is not None and found[0] < float(series.values.max())
        if found is not None and below and found[1] >= SEVERAL and _about(found[2], spell):
            value, rows, since = found
            return Outcome("met", f"{name} is {num(value)} in all {rows} rows since step {since}")
    return Outcome("unmet", "the scores of a batch differ, or nothing tells whether they do")


def _about(step: int, spell: Spell) -> bool:
    """Whether a step is the onset of the finding, within the error of dates."""
    return spell.onset is None or abs(step - spell.onset) <= spell.early + spell.late


def _opposed(look: Look, test: Opposed, spell: Spell) -> Outcome:
    loses, gains = fact_of(look, test.metric), fact_of(look, test.of)
    if loses is None or gains is None:
        return missing(look, test.metric if loses is None else test.of)
    _, both = _pairs(loses, gains)
    if len(both) < FIRST:
        return Outcome("unknown", f"there are too few points of {label_of(loses.name)}")
    (low, high), ends = both.T, (both[0], both[-1])
    told = ", ".join(_went((loses, gains), *ends))
    if np.ptp(low) == 0 or np.ptp(high) == 0:
        return Outcome("unmet", told)
    if ends[0][0] - ends[1][0] < LOST * abs(ends[0][0]) or ends[1][1] <= ends[0][1]:
        return Outcome("unmet", told)
    if not any(np.abs(low + high - whole).max() <= NEAR for whole in WHOLE):
        return Outcome("unmet", told)
    return Outcome("met" if mirrored(low, high) else "unmet", f"from the first evaluation on {told}")


def _pairs(one: MetricFacts, other: MetricFacts) -> tuple[Ints, Floats]:
    """The steps of one metric's points, each with the level of the other metric at that step."""
    steps = one.series.steps
    levels = [other.before(int(step) + 1, FIRST) for step in steps]
    known = [i for i, level in enumerate(levels) if level is not None]
    pairs = [(float(one.values[i]), level.value) for i, level in enumerate(levels) if level is not None]
    return steps[known], np.array(pairs).reshape(-1, 2)


def _went(metrics: Sequence[MetricFacts], before: Floats, now: Floats) -> list[str]:
    """Each metric with its value before and now."""
    return [
        f"{label_of(one.name)} {value_of(one.name, was)} → {value_of(one.name, is_now)}"
        for one, was, is_now in zip(metrics, before, now, strict=True)
    ]


def _upside_down(look: Look, test: UpsideDown, spell: Spell) -> Outcome:
    one, other = fact_of(look, test.metric), fact_of(look, test.of)
    if one is None or other is None:
        return missing(look, test.metric if one is None else test.of)
    steps, both = _pairs(one, other)
    onset = spell.onset if spell.onset is not None else spell.end
    near = steps.searchsorted([onset - spell.early - AROUND, onset + AROUND], "right")
    low, high = look.profile.floor, look.profile.ceiling
    bounds = [(low + high, high - low)] if low is not None and high is not None and high > low else []
    wholes = [(0.0, None), (1.0, 1.0), (PERCENT, PERCENT), *bounds]
    tried = range(int(near[0]), int(near[1]) + 1)
    at = next((at for at in tried if upside_down(both[:, 0], both[:, 1], at, wholes)), None)
    if at is None:
        if len(both) < 2 * FIRST:
            return Outcome("unknown", f"there are too few points of {label_of(one.name)}")
        return Outcome("unmet", f"{label_of(other.name)} does not follow {label_of(one.name)} upside down")
    since = f"since step {steps[at - 1]} {' and '.join(_went((one, other), both[at - 1], both[-1]))}"
    return Outcome("met", f"{since}, which rose and fell together before", EXACT)


def _stopped(look: Look, test: Stopped, spell: Spell) -> Outcome:
    logged = [facts for name in test.metrics if (facts := look.facts.metric(name)) is not None]
    if not logged:
        return missing(look, test.metrics[0])
    newest = max(logged, key=lambda facts: int(facts.series.rows[-1]))
    rows, step = newest.series.rows, int(newest.series.steps[-1])
    usual = int(np.diff(rows).max()) if len(rows) > 1 else 1
    if look.n - 1 - int(rows[-1]) < max(FIRST, TIMES_USUAL * usual):
        return Outcome("unmet", f"{label_of(newest.name)} is a number at step {step}")
    told = f"{label_of(newest.name)} has been no number since step {step}"
    near = spell.onset is None or abs(step - spell.onset) <= AROUND + spell.early
    return Outcome("met" if near else "unmet", told, EXACT)


def _part_turned(look: Look, test: PartTurned, spell: Spell) -> Outcome:
    for name, series in look.family(PARTS).items():
        about = int(series.steps.searchsorted((spell.onset or 0) - spell.late))
        found = turned(series, look.logged, about)
        if found is not None and _about(found.since, spell):
            return Outcome("met", f"{name} went {num(found.before)} → {num(found.after)} at step {found.since}")
    return Outcome("unmet", "no part of the reward changed its sign")


OF_GRADING: Mapping[type, Callable[[Look, Any, Spell], Outcome]] = {
    ByChance: _by_chance,
    BecameAlike: _alike_prompts,
    GaveOneScore: _one_score,
    Opposed: _opposed,
    UpsideDown: _upside_down,
    Stopped: _stopped,
    PartTurned: _part_turned,
}
