"""Validation against its own peak and against the train reward."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import takewhile
from math import isfinite, log, sqrt
from typing import NamedTuple

import numpy as np

from rltui.evidence import words
from rltui.evidence.effects import NOISE_POINTS, between, carry, off_trend, rms_but_greatest
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import mann_kendall_p, sd_d
from rltui.evidence.untrained import untrained
from rltui.frameworks.resolve import resolve
from rltui.prose import capital
from rltui.rules.base import Memory, Params, held, loud, rule
from rltui.rules.left_behind import beside_training, ends_of
from rltui.rules.traits import Trait
from rltui.run.table import Floats, Series

DENSE = 60
"""Evaluations that tell how far the noise of one carries on to the next (its standard error is then .13)."""

FEWEST_OF_TWO, MOST_OF_TWO = 8, 40
"""Evaluations from which on two straight pieces leave enough to tell the noise, and beyond which neighbours tell it
well enough."""


class Fall(NamedTuple):
    """`at`: index at which it was last as good as its smoothed peak. `peak` and `now` are means of `width` evaluations,
    `errors` apart in standard errors."""

    at: int
    peak: float
    now: float
    errors: float
    width: int


STANDS = 0.5
"""Of the limit: as much of a fall that was told is enough for it to stand, if the newest evaluation alone has fallen as
far. What a few more evaluations tell of their noise is no recovery; one that is back is."""


def _fallen(x: Floats, p: Params, sets: int = 1, width: int = 3, told: bool = False) -> Fall | None:
    """A fall from the peak that counts, now and at the evaluation before. `told`: it was told before.

    The peak is the best of many noisy means: the limit grows with their number as the expected maximum does, and as
    much with the number of `sets` that are looked at, of which any may fall by chance. Both evaluations are measured by
    the noise that is known now. What stands at its best for a while is best at any of these evaluations by chance, and
    falls after the last that lies no further below than the best may lie above.
    """
    if len(x) <= max(p["evals"], 2 * width):
        return None
    smooth = _smooth(x, width)
    if int(smooth.argmax()) >= len(smooth) - width + 1:
        return None  # at its best: the noise, which costs ten times as much, need not be known
    error = _noise(x[-200:], p) * _wanders(x, smooth, width) / sqrt(width)
    if width > 3:  # what wanders for longer than one evaluation tells shows in means beside each other
        error = max(error, _noise(x[len(x) % width :].reshape(-1, width).mean(axis=1), p))
    chance = sqrt(2.0 * log(max(2.0, sets * len(x) / width)))
    limit = (p["se"] + chance) * (STANDS if told else 1.0)
    for end in (len(smooth) - 1, len(smooth)):
        j = int(smooth[:end].argmax())
        fall = float(smooth[j] - smooth[end - 1])
        if error <= 0 or not isfinite(error) or fall <= limit * error or j >= end - width + 1:
            return None
    if told and float(smooth[int(smooth.argmax())] - x[-1]) <= limit * error:
        return None
    half = width // 2
    last = int(np.flatnonzero(smooth >= smooth[j] - (1.0 + chance) * error)[-1]) + half
    while last + 1 < len(x) - half and x[last + 1] >= smooth[j] - sqrt(width) * error:
        last += 1  # a fall at once blurs the means before it comes
    last = min(last, _set_out(smooth, j, width) + half)
    return Fall(last, float(smooth[j]), float(smooth[-1]), fall / error, width)


def _set_out(smooth: Floats, peak: int, width: int) -> int:
    """Index at which a slow fall began: the line through the last places that lie within a quarter and within three
    quarters of it, taken back to the peak. By the time that noise no longer explains it, it has long begun. A fall at
    once takes no longer than the means that blur it, and bounds nothing."""
    fall = float(smooth[peak] - smooth[-1])
    first, last = (int(np.flatnonzero(smooth >= smooth[peak] - part * fall)[-1]) for part in (0.25, 0.75))
    span = last - first - (width - 1)
    return len(smooth) if span <= 0 else max(peak, first - span // 2)


def _carries(x: Floats, without: slice = slice(0, 0)) -> float:
    """How much of its noise an evaluation surely carries on to the next: dense ones of one set do (an autoregressive
    series; of few the correlation is not known)."""
    if len(x) < DENSE:
        return 0.0
    sides = [side for side in (x[: without.start], x[without.stop :]) if len(side) > 1]
    off = np.concatenate([off_trend(side) for side in sides])[-NOISE_POINTS:]
    return max(0.0, carry(off, off) - 1.0 / sqrt(max(1, len(off))))


def _wanders(x: Floats, smooth: Floats, width: int) -> float:
    """By how much the mean of so many evaluations errs more than its neighbours tell, if noise carries on. The way down
    from the peak is left out, as a level that was left is no noise."""
    top = int(smooth.argmax())
    down = top + int((smooth[top:] <= (smooth[top] + smooth[-1]) / 2.0).argmax()) + width
    r = _carries(x, slice(top + width, down))
    lags = np.arange(1, width)
    return sqrt((1.0 + 2.0 * float(((1.0 - lags / width) * r**lags).sum())) / (1.0 - r))


def _smooth(x: Floats, width: int) -> Floats:
    """Means of so many evaluations one after another; of parts, as sums of huge values have no number."""
    return np.convolve(x / width, np.ones(width), mode="valid")


def _noise(x: Floats, p: Params) -> float:
    """Sd of one evaluation, from differences of neighbours. The greatest difference is left out: it may be the fall.

    A rise and fall of few evaluations is no noise: differences of differences, which no steady course moves, bound it,
    and what two straight pieces leave.
    """
    found = min(_sd(np.diff(x)) / sqrt(2.0), p["bent"] * _sd(np.diff(x, 2)) / sqrt(6.0))
    if FEWEST_OF_TWO <= len(x) <= MOST_OF_TWO:
        found = min(found, p["pieces"] * _left_of_two_pieces(x))
    return max(found, p["least"] * float(np.abs(x).max()))


def _left_of_two_pieces(x: Floats) -> float:
    """Sd of the evaluations about the best course of two straight pieces that meet, by n - 4 degrees of freedom."""
    y = x - x.mean()
    fitted = ((_two_pieces(len(x)) @ y) ** 2).sum(axis=1).max()
    return sqrt(max(0.0, float((y * y).sum() - fitted)) / (len(x) - 4))


@lru_cache(maxsize=MOST_OF_TWO)
def _two_pieces(n: int) -> Floats:
    """For each bend orthogonal courses that make up all of two pieces about their mean: (bends, 2, n)."""
    t = np.arange(n, dtype=np.float64)
    line = t - t.mean()
    line /= np.linalg.norm(line)
    out = np.empty((n - 4, 2, n))
    for i in range(n - 4):
        ramp = np.maximum(0.0, t - (i + 2))
        ramp -= ramp.mean()
        ramp -= (ramp @ line) * line
        out[i] = line, ramp / np.linalg.norm(ramp)
    return out


def _sd(differences: Floats) -> float:
    """Of all but the greatest; no less than their root mean square, as a median of few is small by luck."""
    size = np.abs(differences)
    return max(1.4826 * float(np.sort(size)[:-1][(len(size) - 1) // 2]), rms_but_greatest(size))


class Regressed(NamedTuple):
    """A validation set that fell. `proof`: the name that its numbers stand under; `name`: what it is called in a
    sentence; `others`: how many more of the sets fell, in words."""

    found: MetricFacts
    fall: Fall
    proof: str
    name: str
    others: str


def _regressed(look: Look, p: Params, rule: str) -> Regressed | None:
    """Of the validation sets that fell, the one that began to first: a fall from the peak of all evaluations at this
    one and the one before, for as long as it stands, in means of three or of as large a part of many; or a drift down
    of the newest ones, confirmed three times in a row."""
    sets = look.facts.validation_sets
    fallen, before = [], held(look, rule, WARNING)
    for found in sets:
        fall = _fall_of(found.values.tobytes(), tuple(p.items()), len(sets), before)
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


@lru_cache(maxsize=64)  # asked at each row, of which few hold an evaluation
def _fall_of(values: bytes, params: tuple[tuple[str, float], ...], sets: int, told: bool) -> Fall | None:
    x, p = np.frombuffer(values), dict(params)
    wide = int(p["wide"] * len(x))
    found = _fallen(x, p, sets, told=told) or (_fallen(x, p, sets, wide, told) if wide > 3 else None)
    if found is not None:
        return found
    newest = x[-int(p["drift_most"]) :]
    found = _drifted(newest, p, sets)
    return None if found is None else found._replace(at=len(x) - len(newest) + found.at)


def _at_best(found: MetricFacts) -> int:
    """Index of the best sustained evaluation, as everywhere else: nothing falls before it. 0 where none is known."""
    series, best = found.series, found.peak
    at = int(series.steps.searchsorted(best.step)) if best is not None else 0
    return at if at < len(series) - 1 else 0


def _falls(x: Floats, p: Params, sets: int) -> bool:
    chance, sign = mann_kendall_p(x, _carries(x))
    return sign < 0 and sets * chance < p["drift_p"]


def _drifted(x: Floats, p: Params, sets: int = 1) -> Fall | None:
    """A slow fall that no single evaluation shows, seen three times in a row.

    Few evaluations draw their noise anew each time: the plain Mann-Kendall test holds, without blocks.
    """
    if len(x) < p["drift_evals"] or not all(_falls(x[:end], p, sets) for end in (len(x), -1, -2)):
        return None
    smooth = _smooth(x, 3)
    j = int(smooth.argmax())
    errors = float(smooth[j] - smooth[-1]) / max(sd_d(x) / sqrt(3.0), 1e-12)
    return Fall(j + 1, float(smooth[j]), float(smooth[-1]), errors, 3)


def _best(found: MetricFacts, step: int, peak: float) -> str:
    """Best sustained validation and its step, as everywhere else; the rule's own if that lies after its turn."""
    best = found.peak
    if best is None or best.step > step:
        return f"{num(peak)} at step {step}"
    return f"{num(best.value)} at step {best.step}"


def _below_start(x: Floats, width: int, errors: float) -> bool:
    """The newest evaluations lie below the first by so many errors of one."""
    return float(x[-width:].mean()) < float(x[0]) - errors * sd_d(x[-200:])


@rule("val-regression", Look)
def val_regression(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Validation below its peak, twice in a row. Of several sets any; what makes it critical is asked of all
    together."""
    told, both = _regressed(look, p, "val-regression"), look.facts.validation
    if told is None or both is None:
        return []
    found, (j, peak, now, z, width) = told.found, told.fall
    step, x = int(found.series.steps[j]), found.values
    level = CRITICAL if _below_start(both.values, width, p["below_start"]) else WARNING
    began, peaked = float(x[0]), _best(found, step, peak)
    best = peak if found.peak is None or found.peak.step > step else found.peak.value
    told_from = f"began at {num(began)}" if began > best else f"peaked at {peaked}"  # smoothed, a first fall is no peak
    summary = (
        f"{capital(told.name)} {told_from} and is at {num(now)} (mean of the last {width} "
        f"evaluations), {num(z)} standard errors lower"
    )
    below = began <= best and _below_start(x, width, p["below_start"])
    moved = untrained(look.facts.metric(look.reward), int(found.series.steps[0])) is not None
    first = "first evaluation" if moved else "start"
    summary += f" and below its {first} of {num(began)}.{told.others}" if below else f".{told.others}"
    return [Signal(level, summary, ((told.proof, ""), (look.reward, "")), onset_step=step)]


@rule("train-val-divergence", Look)
def train_val_divergence(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Validation falls from its peak while the train reward goes on rising. One of several sets that falls while they
    hold together is no sign that the reward is not the task."""
    told, both = _regressed(look, p, "train-val-divergence"), look.facts.validation
    reward = look.facts.metric(look.reward)
    if told is None or both is None or reward is None:
        return beside_training(look, p, memory)
    found, (j, peak, now, z, width) = told.found, told.fall
    if both is not found and not both.below_best:
        return []
    step = int(found.series.steps[j])
    since = reward.since_step(step)
    limit = -p["gain_se"] if held(look, "train-val-divergence") else p["gain_se"]  # told, it ends with a fall
    if since is None or since.since_start is None or since.since_start.errors < limit:
        return []
    if _fell_too(reward, step, since):
        return []
    level = CRITICAL if _below_start(both.values, width, 0.0) or z > p["critical_se"] else WARNING
    name = words.called(look.facts, look.reward)
    went = "rose" if since.end.value > since.start.value else "kept its level,"
    summary = (
        f"Train {name} {went} {num(since.start.value)} → {num(since.end.value)} since step {step} "
        f"(means of {since.end.points} rows), while {told.name} fell from "
    )
    summary += f"{_best(found, step, peak)} to {num(now)} (mean of the last {width} evaluations).{told.others}"
    return [
        Signal(
            level,
            summary,
            ((told.proof, f"{num(z)} standard errors below its peak"), (look.reward, f"since step {step}")),
            onset_step=step,
        )
    ]


def _fell_too(reward: MetricFacts, step: int, since: MetricFacts) -> bool:
    """The reward is lower than before the step from which validation fell: both fell there, and that the reward has
    come up a part of the way since is no gain that validation lacks."""
    before = reward.before(step)
    effect = None if before is None else between(before, since.end)
    return effect is not None and effect.direction == -reward.better


@rule("passk-shrink", Look)
def passk_shrink(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """pass@k falls below its start while pass@1 rises: answers that were found once are no longer. Of several sets the
    one that fell furthest in noise is told."""
    pairs = _pass_at_k(look)
    names = [f" of {resolve(many.key, look.dialect.name).label}" if len(pairs) > 1 else "" for _, many in pairs]
    found = [s for pair, name in zip(pairs, names, strict=True) if (s := _shrunk(*pair, p, name)) is not None]
    return [max(found, key=lambda one: one[0])[1]] if found else []


def _shrunk(one: Series, many: Series, p: Params, name: str) -> tuple[float, Signal] | None:
    """The signal of a set, and how far its pass@k lies below its start in standard errors."""
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
    """The pass@1 and pass@k of each validation set: the keys that have most of their path in common. Of a single
    set they belong together whatever they are called."""
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
    """How many parts two keys begin with alike."""
    parts = zip(*(re.split(r"[/_]", one) for one in (key, other)), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], parts))


@rule("validation-underpowered", Look)
def validation_underpowered(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Validation, of several sets each, jumps by more than a third of what it moved: it cannot tell checkpoints
    apart."""
    sets = look.facts.validation_sets
    jumps = [found for one in sets if (found := _jumps(one.values, p)) is not None]
    if not sets or len(jumps) < len(sets):
        return []
    noise, moved = jumps[0]
    text = f"Validation jumps by {num(noise)} from one evaluation to the next, and moved by {num(moved)} on the whole."
    return [Signal(NOTICE, text, (("val_score", f"noise {num(noise)}"),), onset_step=int(look.steps[0]))]


PARTS = 6
"""Parts of a course whose means tell how far it moved: more of them would tell of the noise."""


def _jumps(x: Floats, p: Params) -> tuple[float, float] | None:
    """Noise of one evaluation and how far it moved, if the noise hides that. What rose and fell again moved, too."""
    if len(x) < p["evals"]:
        return None
    newest, parts = x[-200:], np.array_split(x, min(PARTS, max(2, len(x) // 3)))
    moved = float(np.ptp([part.mean() for part in parts]))
    noise = min(sd_d(newest), p["bent"] * _sd(np.diff(newest, 2)) / sqrt(6.0))  # what goes a steady way does not jump
    hides = noise > max(p["se"], moved / 3.0) and noise <= float(np.abs(x).max())
    return (noise, moved) if hides else None


@rule("data-exhausted", Look)
def data_exhausted(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The same prompts over and over; loud only where validation turned meanwhile. `memory` keeps since when."""
    epoch = look.series("epoch")
    if epoch is None:
        return []
    now, first = float(epoch.values[-1]), 1 if _from_zero(epoch.values) else 0
    if now + first <= p["notice"]:
        return []
    many = now + first > p["warn"] and loud(look, Trait.OVERFITS)
    if "start" not in memory:
        memory["start"] = float(epoch.steps[int((epoch.values + first > p["notice"]).argmax())])
    counted = f", counted from 0, which is pass {num(now + 1)} over them" if first else ""
    text = f"The data are in epoch {num(now)}{counted}: every prompt was seen before"
    text += ", and validation fell meanwhile." if many else "."
    return [Signal(NOTICE, text, (), onset_step=int(memory["start"]))]


def _from_zero(epochs: Floats) -> bool:
    """The epoch is the number of the pass, the first one 0. Of a share that grows, 1 is the end of the first pass, and
    a single 0 may stand before all training."""
    if len(epochs) < 2 or epochs[:2].any() or epochs[-1] != np.floor(epochs[-1]):
        return False
    return bool((epochs == np.floor(epochs)).all())
