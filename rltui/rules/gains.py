"""Whether a score still gains since a step at which something else began to move: the gain may pay for that move."""

from __future__ import annotations

from math import hypot

from rltui.evidence.effects import LIMIT, between
from rltui.evidence.look import Look
from rltui.rules.base import LEFT

POINTS = 3
"""Evaluations that show where validation was."""


def gain_ended(look: Look, step: int) -> bool:
    """Whether since the step the reward certainly gained next to nothing of what its earlier pace would have brought. A
    trend over a fixed number of rows still contains the rise before that step. False if fewer than 20 rows came
    since."""
    reward = look.facts.metric(look.reward)
    later = None if reward is None else reward.since_step(step)
    gain = None if later is None else later.since_start
    if reward is None or later is None or gain is None:
        return False
    before = len(reward.series) - len(later.series)
    pace = (later.start.value - reward.start.value) * reward.better / max(1, before)
    return gain.value * reward.better + LIMIT * gain.se < LEFT * pace * len(later.series)


def paid_until(look: Look) -> int | None:
    """The step of the best reward, if the reward certainly rose to it and has certainly fallen from it. That gain paid
    for whatever else moved up to that step. None if it did not."""
    reward = look.facts.metric(look.reward)
    best = None if reward is None else reward.peak
    if reward is None or best is None or not reward.below_best:
        return None
    gain, error = (best.value - reward.start.value) * reward.better, hypot(best.se, reward.start.se)
    return best.step if gain > (LIMIT + best.luck) * error else None


def gain_shows(look: Look, step: int) -> bool:
    """Whether the reward is better than at the step, beyond its noise or, if there are few rows, by their order."""
    reward = look.facts.metric(look.reward)
    later = None if reward is None else reward.since_step(step)
    return later is not None and later.way == later.better


def validation_rises_since(look: Look, step: int) -> bool:
    """Whether validation has certainly gained since the step, or every validation set rises. A train reward that falls
    meanwhile is then due to other prompts."""
    both = look.facts.validation
    if both is None or both.below_best:  # it may have fallen right before the step
        return False
    if validation_gained(look, step):
        return True
    parts = [one.since_step(step) for one in look.facts.validation_sets]
    return bool(parts) and all(one is not None and one.way == one.better for one in parts)


def validation_gained(look: Look, step: int) -> bool:
    """Whether validation is certainly better than at the step."""
    score = look.facts.validation
    then = None if score is None else score.within(None, step, POINTS)
    later = None if score is None or then is None else between(then, score.now)
    return later is not None and score is not None and later.direction == score.better
