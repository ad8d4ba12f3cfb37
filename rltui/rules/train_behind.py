"""A train reward that stays while validation, which was near it, keeps rising."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.evidence import words
from rltui.evidence.effects import between
from rltui.evidence.look import Look
from rltui.evidence.metric import FIRST, MetricFacts
from rltui.evidence.parting import parted_at, set_out_at
from rltui.evidence.shifts import step_between
from rltui.evidence.signal import NOTICE, WARNING, Signal, num
from rltui.rules.base import Memory, Params, held, rule
from rltui.rules.ways import LEAST, places, way_of

SINCE = 3
"""Fewest evaluations since the reward was left behind."""
SURE = 3.0
"""Standard errors asked for: the worst of many places is looked at."""
RULE = "train-behind-validation"


@rule(RULE, Look)
def train_behind_validation(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """What the policy learns shows on held-out prompts but not in training: the train reward measures something else
    than the present policy. `memory` keeps the step since when."""
    reward, sets = look.facts.metric(look.reward), look.facts.validation_sets
    if reward is None or not sets:
        return []
    if not all(len(one.values) > LEAST and _is_share(one) for one in sets) or not _is_share(reward):
        return []
    known = held(look, RULE)
    if not known:
        memory.clear()
    steps = sets[0].series.steps
    tried = [int(memory["step"])] if "step" in memory else places(steps, 0)
    if any(one.below_best for one in sets):
        return []  # validation falls too
    found = [(lag, step) for step in tried if (lag := _lag(look, reward, sets, step, p, known)) is not None]
    if not found:
        return []
    _, step = max(found)
    onset = int(memory["onset"]) if "onset" in memory else _onset(reward, sets[0], step)
    if not known and int((steps > onset).sum()) < SINCE:
        return []  # the next evaluation may fall as well
    memory |= {"step": float(step), "onset": float(onset)}
    way = way_of(sets[0].values[int(steps.searchsorted(step)) :], sets[0].values)
    was = (reward.before(step + 1, 2 * FIRST) or reward.start).value
    text = f"Validation rose {num(way.start)} → {num(way.end)} since step {step}, and the train "
    text += f"{words.called(look.facts, look.reward)}, which was near it then, went {num(was)} → "
    text += f"{num(reward.end.value)}: what the policy learns does not show in training."
    proofs = (("val_score", f"since step {step}"), (look.reward, f"since step {step}"))
    return [Signal(WARNING if _parted_from(reward, step, onset) else NOTICE, text, proofs, onset_step=onset)]


def _parted_from(reward: MetricFacts, step: int, onset: int) -> bool:
    """Whether the reward had gained before, or fell at once. If it is level or falls slowly from the start on, the
    prompts may be becoming harder."""
    before = reward.before(onset + 1, 2 * FIRST)
    effect = None if before is None else between(reward.start, before)
    followed = effect is not None and effect.direction * reward.better > 0 and effect.value >= 2.0 * effect.se
    return followed or step_between(reward.series, step, int(reward.series.steps[-1])) is not None


def _is_share(one: MetricFacts) -> bool:
    return bool(one.values.min() >= 0.0 and one.values.max() <= 1.0)


def _lag(
    look: Look, reward: MetricFacts, sets: Sequence[MetricFacts], step: int, p: Params, known: bool
) -> float | None:
    """How much of validation's gain since a step the train reward lacks. None unless that is certain. If the reward's
    ceiling is not 1, the reward must not have gained at all. Once reported, it ends if the reward has gained half of
    it."""
    ways = [way_of(one.values[int(one.series.steps.searchsorted(step)) :], one.values) for one in sets]
    level = reward.before(step + 1, 2 * FIRST) or reward.start
    effect = between(level, reward.end)
    gain = min(way.end - way.start for way in ways)
    if effect is None or abs(ways[0].start - level.value) > p["alike"] or level.value + gain > 1.0:
        return None
    if known:
        stands = gain >= p["ends"] * p["gain"] and effect.value < p["ends"] * gain
        return gain - effect.value if stands else None
    scaled = look.profile.ceiling == 1.0 or effect.direction <= 0
    if not scaled or gain < p["gain"] or not all(way.sure for way in ways):
        return None
    return gain - effect.value if effect.value + SURE * effect.se < p["behind"] * gain else None


def _onset(reward: MetricFacts, held_out: MetricFacts, step: int) -> int:
    """The step at which the reward fell, suddenly or slowly, since it was near validation; otherwise the step at which
    both parted."""
    steps = held_out.series.steps
    bounds = [step, *(int(one) for one in steps[steps > step]), int(reward.series.steps[-1])]
    each = (step_between(reward.series, first, last) for first, last in zip(bounds, bounds[2:], strict=False))
    falls = [jump for jump in each if jump is not None and jump.after < jump.before]
    if falls:
        return max(falls, key=lambda jump: jump.before - jump.after).step
    since = reward.since_step(step)
    if since is not None and since.below_best and since.peak is not None:
        series = since.series
        return set_out_at(series.since_row(int(series.rows[series.steps.searchsorted(since.peak.step)])))
    return max(step, parted_at(reward.series, held_out.series) or step)
