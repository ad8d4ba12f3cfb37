"""A train reward that leaps at once while neither the policy nor validation moves with it."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from rltui.evidence.effects import noise_of_few
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.outages import policy_moved
from rltui.evidence.shifts import Shift, at_once
from rltui.evidence.signal import WARNING, Signal, num
from rltui.evidence.trends import sd_d
from rltui.rules.base import Memory, Params, reward_name
from rltui.run.table import Floats

NEAR = 6
"""Rows on each side of the leap that show whether the policy moved."""
EVALS = 3
"""Evaluations on each side that show whether validation moved."""


def not_followed(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The train reward rose at once by a good part of its scale, and two evaluations later no validation set has gained
    a quarter of that. Likely causes: another grader or reward model, a leak in the prompts, or easier prompts. Shifts
    are looked for only in the newest rows, so `memory` keeps the leap until the reward is back or validation has
    followed."""
    reward, sets = look.facts.metric(look.reward), look.facts.validation_sets
    if reward is None or not sets:
        return []
    known = [Shift(int(memory["leap"]), memory["leap before"], memory["leap after"])] if "leap" in memory else []
    risen = [one for one in reward.shifts if one.after > one.before]
    for shift in (*known, *([max(risen, key=lambda one: one.after - one.before)] if risen else [])):
        found = _alone(look, reward, sets, shift, p)
        if found is not None:
            memory |= {"leap": float(shift.step), "leap before": shift.before, "leap after": shift.after}
            return [found]
    for name in ("leap", "leap before", "leap after"):
        memory.pop(name, None)
    return []


def _alone(look: Look, reward: MetricFacts, sets: Sequence[MetricFacts], shift: Shift, p: Params) -> Signal | None:
    leap, profile = shift.after - shift.before, look.profile
    shares = profile.floor == 0.0 and profile.ceiling == 1.0
    if leap < p["leap"] * (1.0 if shares else profile.spread) or not at_once(reward.series, shift):
        return None
    rows, at = reward.series.rows, int(reward.series.steps.searchsorted(shift.step))
    moved = policy_moved(rows[max(0, at - NEAR) : at], rows[at : at + NEAR], look.logged) if at else None
    before = reward.values[:at]
    highest = float(np.quantile(before[-200:], 0.95)) if at else shift.after
    if min(shift.after, reward.now.value) - highest < leap / 2:  # the reward falls back, or had been as high before
        return None
    if moved is not False or leap < p["noise"] * sd_d(before[-50:]):
        return None
    alike = shares or any(float(one.values.max()) > 1.0 for one in sets)
    part = leap if alike or profile.spread <= 1.0 else leap / profile.spread  # on another scale: its share
    gains = [_gain(one, shift) for one in sets]
    known = [gain for gain in gains if gain is not None]
    if len(known) < len(sets) or any(_follows(gain, part, p) for gain in known):
        return None
    newest = [(before, one.values[-EVALS:]) for (before, _), one in zip(known, sets, strict=True)]
    if any(_follows(gain, part, p, surely=True) for gain in newest):
        return None
    early, late = known[0]
    told = f"{reward_name(look)} rose {num(shift.before)} → {num(shift.after)} at once at step {shift.step}, while the "
    told += f"policy was as before and validation did not follow ({num(float(early.mean()))} → "
    told += f"{num(float(late.mean()))}): the train reward pays for something else since then, or for easier prompts."
    proofs = ((look.reward, f"{num(shift.before)} before, {num(shift.after)} after"), ("val_score", ""))
    return Signal(WARNING, told, proofs, onset_step=shift.step)


def _gain(one: MetricFacts, shift: Shift) -> tuple[Floats, Floats] | None:
    """The evaluations right before the leap and those after it. None if there are fewer than two of either."""
    at = int(one.series.steps.searchsorted(shift.step))
    before, after = one.values[max(0, at - EVALS) : at], one.values[at : at + EVALS]
    return (before, after) if min(len(before), len(after)) > 1 else None


def _follows(gain: tuple[Floats, Floats], leap: float, p: Params, surely: bool = False) -> bool:
    """Whether a set may have gained a quarter of the leap. With `surely`: whether it certainly has."""
    before, after = gain
    risen = float(after.mean() - before.mean())
    error = noise_of_few(np.concatenate(gain)) * sqrt(1 / len(before) + 1 / len(after))
    return risen + (-error if surely else error) >= p["follows"] * leap
