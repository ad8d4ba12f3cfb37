"""Validation against its own peak and against the train reward."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import takewhile
from math import sqrt
from typing import NamedTuple

import numpy as np

from rltui.evidence import words
from rltui.evidence.effects import between
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import sd_d
from rltui.evidence.untrained import untrained
from rltui.frameworks.resolve import resolve
from rltui.prose import capital
from rltui.rules.base import Memory, Params, held, loud, policy_labels, rule
from rltui.rules.falls import Fall, fall_of, spread
from rltui.rules.left_behind import beside_training
from rltui.rules.outpaced import left_in_proportion
from rltui.rules.traits import Trait
from rltui.rules.ways import ends_of
from rltui.run.table import Floats, Series


class Regressed(NamedTuple):
    """A validation set that fell. `proof`: the name that its numbers are shown under; `name`: what it is called in a
    sentence; `others`: how many of the sets fell, in words."""

    found: MetricFacts
    fall: Fall
    proof: str
    name: str
    others: str


def _regressed(look: Look, p: Params, rule: str) -> Regressed | None:
    """The validation set that began to fall first. A fall is measured from the peak of all evaluations, at this
    evaluation and the one before, in means of three or of a part of many, and counts as long as it lasts. A downward
    drift of the newest evaluations, confirmed three times in a row, also counts."""
    sets = look.facts.validation_sets
    fallen, before = [], held(look, rule, WARNING)
    for found in sets:
        fall = fall_of(found.values.tobytes(), tuple(p.items()), len(sets), before)
        if fall is not None:
            fallen.append((found, fall._replace(at=max(fall.at, _at_best(found)))))
    if not fallen:
        return None
    found, fall = min(fallen, key=lambda one: int(one[0].series.steps[one[1].at]))
    if len(sets) == 1:
        return Regressed(found, fall, "val_score", "validation", "")
    key = found.series.key
    name = words.of_set(key, look.dialect.name)
    return Regressed(found, fall, key, name, f" Of {len(sets)} validation sets {len(fallen)} fell.")


def _at_best(found: MetricFacts) -> int:
    """Index of the best sustained evaluation, as everywhere else: no fall begins before it. 0 if none is known."""
    series, best = found.series, found.peak
    at = int(series.steps.searchsorted(best.step)) if best is not None else 0
    return at if at < len(series) - 1 else 0


def _best(found: MetricFacts, step: int, peak: float) -> tuple[float, int]:
    """Best sustained validation and its step, as everywhere else; the rule's own peak if that lies after its turn."""
    best = found.peak
    return (peak, step) if best is None or best.step > step else (best.value, best.step)


def _below_start(x: Floats, width: int, errors: float) -> bool:
    """Whether the newest evaluations are below the first by `errors` times the noise of one."""
    return float(x[-width:].mean()) < float(x[0]) - errors * sd_d(x[-200:])


@rule("val-regression", Look)
def val_regression(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Validation below its peak, twice in a row, in any of several sets. All sets together decide whether it is
    critical."""
    told, both = _regressed(look, p, "val-regression"), look.facts.validation
    if told is None or both is None:
        return []
    found, (j, peak, now, z, width) = told.found, told.fall
    step, x = int(found.series.steps[j]), found.values
    level = CRITICAL if _below_start(both.values, width, p["below_start"]) else WARNING
    began, (best, best_at) = float(x[0]), _best(found, step, peak)
    rose = best > began + found.noise  # else the first evaluation, or one like it, is the best
    told_from = f"peaked at {num(best)} at step {best_at}" if rose else f"began at {num(began)}"
    summary = (
        f"{capital(told.name)} {told_from} and is at {num(now)} (mean of the last {width} "
        f"evaluations), {num(z)} standard errors lower"
    )
    below = rose and _below_start(x, width, p["below_start"])
    moved = untrained(look.facts.metric(look.reward), int(found.series.steps[0])) is not None
    first = "first evaluation" if moved else "start"
    summary += f" and below its {first} of {num(began)}.{told.others}" if below else f".{told.others}"
    since = None if began > best else best_at
    return [Signal(level, summary, ((told.proof, ""), (look.reward, "")), onset_step=step, best_step=since)]


@rule("train-val-divergence", Look)
def train_val_divergence(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Validation falls from its peak while the train reward keeps rising. If one of several sets falls while all
    together hold, that does not show that the reward is not the task."""
    told, both = _regressed(look, p, "train-val-divergence"), look.facts.validation
    reward = look.facts.metric(look.reward)
    if told is None or both is None or reward is None:
        return beside_training(look, p, memory)
    found, (j, peak, now, z, width) = told.found, told.fall
    if both is not found and not both.below_best:
        return []
    step = int(found.series.steps[j])
    since = reward.since_step(step)
    limit = -p["gain_se"] if held(look, "train-val-divergence") else p["gain_se"]  # once reported, it ends with a fall
    if since is None or since.since_start is None or since.since_start.errors < limit:
        return left_in_proportion(look, p, memory)  # the reward gained before validation was seen to fall
    if _fell_too(reward, step, since) or not _rose_beside(reward, since, int(found.series.steps[-width]), limit):
        return left_in_proportion(look, p, memory)
    level = CRITICAL if _below_start(both.values, width, 0.0) or z > p["critical_se"] else WARNING
    name = words.called(look.facts, look.reward)
    went = "rose" if since.since_start.errors >= p["gain_se"] else "kept its level,"
    summary = (
        f"Train {name} {went} {num(since.start.value)} → {num(since.end.value)} since step {step} "
        f"(means of {since.end.points} rows), while {told.name} fell from "
    )
    best, best_at = _best(found, step, peak)
    summary += f"{num(best)} at step {best_at} to {num(now)} (mean of the last {width} evaluations).{told.others}"
    return [
        Signal(
            level,
            summary,
            ((told.proof, f"{num(z)} standard errors below its peak"), (look.reward, f"since step {step}")),
            onset_step=step,
            best_step=best_at,
        )
    ]


def _fell_too(reward: MetricFacts, step: int, since: MetricFacts) -> bool:
    """Whether the reward is lower than before the step from which validation fell. Then both fell there, and a partial
    recovery of the reward is not a gain that validation lacks."""
    before = reward.before(step)
    effect = None if before is None else between(before, since.end)
    return effect is not None and effect.direction == -reward.better


def _rose_beside(reward: MetricFacts, since: MetricFacts, step: int, limit: float) -> bool:
    """Whether the reward has risen over the rows from a step on, in which the newest evaluations were made. If it rose
    only after the first of them, they measure the policy before the rise."""
    over = reward.after(step, len(reward.series))
    effect = None if over is None else between(since.start, over)
    return effect is not None and effect.errors >= limit


@rule("validation-shift", Look)
def validation_shift(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Validation leapt from one evaluation to the next while the train reward and the policy stayed: it measures
    something else since then."""
    if not look.revalued:
        return []
    newest, sets = look.revalued[-1], look.facts.validation_sets
    before, after = num(newest.before), num(newest.after)
    name = "validation" if len(sets) < 2 else words.of_set(newest.key, look.dialect.name)
    went = "rose" if newest.after > newest.before else "fell"
    text = (
        f"{capital(name)} {went} {before} → {after} at once at step {newest.since}, further than ever before from one "
    )
    text += f"evaluation to the next, while the train {words.called(look.facts, look.reward)}"
    still = policy_labels(look)
    text += f" and the policy ({', '.join(still)})" if still else ""
    text += " stayed as before: it measures something else since then. Evaluations before that step count nowhere."
    proofs = ((newest.key, f"{before} before, {after} after"), (look.reward, f"since step {newest.since}"))
    return [Signal(WARNING, text, proofs, onset_step=newest.since)]


@rule("passk-shrink", Look)
def passk_shrink(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """pass@k falls below its start while pass@1 rises: some answers are no longer found. Of several sets, the one that
    fell furthest relative to its noise is reported."""
    pairs = _pass_at_k(look)
    names = [f" of {resolve(many.key, look.dialect.name).label}" if len(pairs) > 1 else "" for _, many in pairs]
    found = [s for pair, name in zip(pairs, names, strict=True) if (s := _shrunk(*pair, p, name)) is not None]
    return [max(found, key=lambda one: one[0])[1]] if found else []


def _shrunk(one: Series, many: Series, p: Params, name: str) -> tuple[float, Signal] | None:
    """The signal of a set, and how far its pass@k is below its start in standard errors."""
    if len(many) < p["evals"] or len(one) < p["evals"]:
        return None
    (start, now), (first, last) = ends_of(many.values), ends_of(one.values)
    risen, gap, before = last > first, now - last, start - first
    error = sd_d(many.values) * sqrt(2.0 / max(2, len(many) // 3))
    if not risen or before <= 0 or gap > 0.5 * before:
        return None
    fall = (start - now) / max(error, p["least"])
    text = f"pass@k{name} went {num(start)} → {num(now)} while pass@1 rose: the gain is sharper, not wider."
    proofs = ((many.key, ""), (one.key, ""))
    return fall, Signal(WARNING if error > 0 and fall > p["se"] else NOTICE, text, proofs, moved=many.key)


def _pass_at_k(look: Look) -> list[tuple[Series, Series]]:
    """The pass@1 and pass@k of each validation set: the keys that share most of their path. If there is a single set,
    they belong together whatever their names."""
    ones = [found.series for found in look.facts.validation_sets]
    alone = look.series("val_pass_at_k")
    many = list(look.family("val_pass_at_k").values()) or ([] if alone is None else [alone])
    if len(ones) == 1:
        return [(ones[0], several) for several in many]
    pairs = []
    for several in many:
        shared = [_shared(one.key, several.key) for one in ones]
        if shared and shared.count(max(shared)) == 1 and max(shared) > 1:
            pairs.append((ones[shared.index(max(shared))], several))
    return pairs


def _shared(key: str, other: str) -> int:
    """How many leading parts two keys share."""
    parts = zip(*(re.split(r"[/_]", one) for one in (key, other)), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], parts))


@rule("validation-underpowered", Look)
def validation_underpowered(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Validation (every set of it) jumps by more than a third of its whole movement: it cannot distinguish
    checkpoints."""
    sets = look.facts.validation_sets
    jumps = [found for one in sets if (found := _jumps(one.values.tobytes(), tuple(p.items()))) is not None]
    if not sets or len(jumps) < len(sets):
        return []
    noise, moved = jumps[0]
    text = f"Validation jumps by {num(noise)} from one evaluation to the next, and moved by {num(moved)} on the whole."
    return [Signal(NOTICE, text, (("val_score", f"noise {num(noise)}"),), onset_step=int(look.steps[0]))]


PARTS = 6
"""Parts of a course whose means show how far it moved: more parts would show the noise."""


@lru_cache(maxsize=64)  # called at each row, but few rows hold an evaluation
def _jumps(values: bytes, params: tuple[tuple[str, float], ...]) -> tuple[float, float] | None:
    """Noise of one evaluation and how far validation moved, if the noise hides that. A rise that fell again counts as
    movement."""
    x, p = np.frombuffer(values), dict(params)
    if len(x) < p["evals"]:
        return None
    newest, parts = x[-200:], np.array_split(x, min(PARTS, max(2, len(x) // 3)))
    moved = float(np.ptp([part.mean() for part in parts]))
    steady = p["bent"] * spread(np.diff(newest, 2)) / sqrt(6.0)  # a steady course does not jump
    noise = min(sd_d(newest), steady)
    hides = noise > max(p["se"], moved / 3.0) and noise <= float(np.abs(x).max())
    return (noise, moved) if hides else None


@rule("data-exhausted", Look)
def data_exhausted(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The same prompts over and over; mentions a fall of validation if there is one. `memory` keeps since when."""
    epoch = look.series("epoch")
    if epoch is None:
        return []
    now = float(epoch.values[-1])
    if now + 1 <= p["notice"]:
        return []
    first = int(memory["first"]) if "first" in memory else 1 if _from_zero(epoch.values) else 0
    if now + first <= p["notice"]:
        return []
    many = now + first > p["warn"] and loud(look, Trait.OVERFITS)
    if "start" not in memory:
        memory["start"] = float(epoch.steps[int((epoch.values + first > p["notice"]).argmax())])
        memory["first"] = float(first)

    def text() -> str:
        counted = f", counted from 0, which is pass {num(now + 1)} over them" if first else ""
        fell = ", and validation fell meanwhile." if many else "."
        return f"The data are in epoch {num(now)}{counted}: every prompt was seen before{fell}"

    return [Signal(NOTICE, text, (), onset_step=int(memory["start"]))]


def _from_zero(epochs: Floats) -> bool:
    """Whether the epoch is the number of the pass, counted from 0. In a share that grows, 1 is the end of the first
    pass, and a single 0 may be from before all training."""
    if len(epochs) < 2 or epochs[:2].any() or epochs[-1] != np.floor(epochs[-1]):
        return False
    return bool((epochs == np.floor(epochs)).all())
