"""Validation that gained with training, each on its own scale, until only training went on."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.evidence import words
from rltui.evidence.effects import between
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.parting import set_out_at
from rltui.evidence.signal import WARNING, Signal, num
from rltui.evidence.trends import running_medians
from rltui.rules.base import Memory, Params, held
from rltui.rules.ways import LEAST, places, way_of

STANDS = 0.5
"""Share of the limits that is enough once the finding was reported."""
FASTER, MOST = 2.0, 0.75
"""Factor over the earlier pace at which training must make this part of the gain that it makes alone: memorised prompts
are learnt faster than others."""
STEP = "outpaced"
"""The memory's key for the step since which training gained alone."""
SET_OUT = "set out"
"""The memory's key for the step at which that gain of training began."""


def left_in_proportion(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Both gained up to a step. Since then training gained more than before, and faster, and no validation set gained a
    quarter of what its earlier gain beside training predicts. On another scale than the train reward, validation need
    not come as far, but its course must continue as before. A set near its top had no room to gain."""
    whole, sets = look.facts.metric(look.reward), look.facts.validation_sets
    if whole is None or not sets or any(len(one.values) < 2 * LEAST for one in sets):
        return []
    if any(one.values.min() < 0.0 or one.values.max() > 1.0 for one in sets):
        return []
    if not held(look, "train-val-divergence"):
        memory.pop(STEP, None)
    steps = sets[0].series.steps
    tried = [int(memory[STEP])] if STEP in memory else places(steps, LEAST)
    step = next((one for one in tried if _alone(look, whole, sets, one, p, STEP in memory)), None)
    train = None if step is None else whole.since_step(step)
    if step is None or train is None:
        return []
    if STEP not in memory:
        memory |= {STEP: float(step), SET_OUT: float(set_out_at(train.series))}
    first = sets[0]
    way = way_of(first.values[int(steps.searchsorted(step)) :], first.values)
    name = words.called(look.facts, look.reward)
    text = f"Train {name} rose {num(train.start.value)} → {num(train.end.value)} since step {step}, more than in all "
    text += "steps before, and validation, which had gained with it until then, did not follow: "
    text += f"{num(way.start)} → {num(way.end)} (means of the first and the last third since then)."
    proofs = (("val_score", f"no gain beside that of training since step {step}"), (look.reward, ""))
    return [Signal(WARNING, text, proofs, onset_step=int(memory[SET_OUT]))]


def _alone(look: Look, whole: MetricFacts, sets: Sequence[MetricFacts], step: int, p: Params, told: bool) -> bool:
    """Whether only training went on since a step. `told`: this was reported before, and ends with a gain."""
    train, part = whole.since_step(step), STANDS if told else 1.0
    gain = None if train is None else train.since_start
    early = None if train is None else between(whole.start, train.start)
    if train is None or gain is None or early is None or early.errors < p["gain_se"] or early.value <= 0.0:
        return False
    least = max(early.value, p["gain"] * look.profile.spread)
    if gain.errors < part * p["se"] or gain.value < part * least:
        return False
    if not told and _pace(train) < FASTER * early.value / (len(whole.series) - len(train.series)):
        return False  # training goes on at its old pace; a validation that learnt sooner also ends sooner
    return all(_stayed(one, step, gain.value / early.value, p, told) for one in sets)


def _pace(train: MetricFacts) -> float:
    """Gain per row until most of the gain was made."""
    level = train.start.value + MOST * (train.end.value - train.start.value)
    rows = int((running_medians(train.values) >= level).argmax())
    return (level - train.start.value) / max(1, rows)


def _stayed(one: MetricFacts, step: int, times: float, p: Params, told: bool) -> bool:
    """Whether a set that certainly gained before a step gained next to nothing since, while training gained `times` as
    much as before."""
    at = int(one.series.steps.searchsorted(step))
    if min(at, len(one.values) - at) < LEAST:
        return False
    before, since = way_of(one.values[:at], one.values), way_of(one.values[at:], one.values)
    owed = (before.end - before.start) * times
    if not before.sure or since.start + owed > 1.0:
        return False
    return (since.end - since.start if told else since.most) < p["behind"] * owed
