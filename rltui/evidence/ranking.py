"""How good each step was: a ranking by validation, else by train reward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rltui.evidence.blocks import BlockCache, Blocks
from rltui.evidence.effects import NOISE_POINTS
from rltui.evidence.evaluations import mean_z, together, validation_sets
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts, alone
from rltui.evidence.peak import borne_out, highest, least_of, smoothed
from rltui.evidence.trends import running_medians, sd_d
from rltui.evidence.untrained import Untrained, untrained
from rltui.frameworks.parts import is_task
from rltui.run.run import Checkpoint
from rltui.run.table import Floats, Ints, Series

PARTS = "reward_component_mean"


class Ranking(Struct, frozen=True):
    """`score` decides: smoothed over `width` points, at `steps`, with standard error `se`. `value` and `value_se` are
    the smoothed metric that people see (`key`, in its own unit) at the same steps. `start` is where it began, with
    standard error `start_se`. `single`: the score of each evaluation alone. `held_out`: validation, not train reward.
    `sets`: the number of sets combined. `logged`: for validation, the logged value of the main set at each step.
    `basis` says in words what ranks. `rose_to`: its last window if the fact table says that it rose since the start.
    `learnt`: whether the train reward was above its start at each step, which few evaluations may not show. `task`: it
    ranks by how well the task is done, not by a reward that may be farmed. `untrained`: the train reward had moved by
    the first evaluation. That one is then not the start, and the start of validation is not known. `above`: whether the
    train reward was above its own start at each step, which is all that is known then. `followed`: whether validation
    may share in what the train reward gained since. `later`: there are earlier evaluations, in another measure."""

    steps: Ints
    score: Floats
    se: float
    width: int
    key: str
    value: Floats
    value_se: float
    start: float
    start_se: float
    held_out: bool
    basis: str
    single: Floats
    learnt: NDArray[np.bool_]
    sets: int = 1
    rose_to: float | None = None
    task: bool = True
    logged: Floats | None = None
    untrained: Untrained | None = None
    above: NDArray[np.bool_] | None = None
    followed: NDArray[np.bool_] | None = None
    later: bool = False

    def nearest(self, step: int) -> int:
        """Index of the ranked point nearest to a step; of two equally near ones, the earlier."""
        i = int(np.searchsorted(self.steps, step))
        if i == len(self.steps):
            return i - 1
        return i - 1 if i and step - int(self.steps[i - 1]) <= int(self.steps[i]) - step else i


def ranking(
    look: Look, farmed: bool = False, before: int | None = None, doubted: bool = False, saved: bool = False
) -> Ranking | None:
    """The ranking by validation (all sets together), else by train reward, or for preference pairs by their accuracy.
    If the reward is `farmed` and exactly one part of it is the task, that part ranks. `before`: only evaluations before
    this step count, if there are enough, so that no mean of neighbours includes what came after a fault. The same holds
    for rows, if states are `saved`; else the best of all rows is named, as everywhere else. `doubted`: the train reward
    says nothing of validation, or may not. None if neither has enough points, or if values overflow."""
    whole = validation_sets(look)
    sets = together([part for one in whole if len(part := _until(one, before))]) or together(whole)
    if sets and not (look.revalued and all(np.ptp(one.values) == 0.0 for one in sets)):  # else all equal now
        main = look.facts.validation_sets[0]
        few = main.since_start is None  # with enough evaluations, their own course shows the gain
        found = _by_sets(sets, main, _trained(look, before) if few and not (farmed or doubted) else None)
        found = None if found is None else _from_start(found, look.facts.metric(_rewarded(look)))
        return None if found is None else replace(found, later=bool(look.revalued))
    task = _task_part(look) if farmed else None
    if task is not None:
        basis = f"{task.name} in training, as the total reward stands for the task no longer"
        return _in_training(task, BlockCache().get(task.name, task.values), basis, task=True)
    name = _rewarded(look)
    basis = f"train {'pairs' if look.settings.preference else 'reward'} only: low confidence"
    reward = look.facts.metric(name)
    own = None if reward is None or before is None or not saved else _until(reward.series, before)
    if own is not None and len(own) >= FEWEST_ROWS:
        of_before = _in_training(alone(name, own), BlockCache().get(name, own.values), basis, task=False)
        if of_before is not None:
            return of_before
    return _in_training(reward, look.blocks(name), basis, task=False)


def _rewarded(look: Look) -> str:
    return "dpo_accuracy" if look.settings.preference else look.reward


def _from_start(found: Ranking, train: MetricFacts | None) -> Ranking:
    before = untrained(train, int(found.steps[0]))
    if train is None or before is None:
        return found
    since = _keeps_up(train.since_step(int(found.steps[0])), found.steps, found.value, _of_both(found))
    return replace(found, untrained=before, above=before.exceeded(train, found.steps, RISEN), followed=since)


def _of_both(found: Ranking) -> float:
    """Error of the difference between one of its values and its first."""
    return float(found.value_se * np.sqrt(1 + found.width))


FEWEST_ROWS = 10
"""The fewest rows before a fault that can rank states."""


def _until(one: Series, before: int | None) -> Series:
    return one if before is None or not len(one) or one.steps[-1] < before else one.where(one.steps < before)


def _task_part(look: Look) -> MetricFacts | None:
    parts = [alone(name, series) for name, series in look.family(PARTS).items() if is_task(name) and len(series)]
    return parts[0] if len(parts) == 1 else None


def _in_training(reward: MetricFacts | None, blocks: Blocks | None, basis: str, task: bool) -> Ranking | None:
    """Uses the curve of the fact table, whose best point is the peak there: a spike of one batch is not a
    best state."""
    curve = None if reward is None else reward.curve
    if reward is None or blocks is None or curve is None:
        return None
    return Ranking(
        steps=curve.steps,
        score=curve.values,
        se=curve.se,
        width=curve.width,
        key=reward.series.key,
        value=curve.values,
        value_se=curve.se,
        start=float(running_medians(blocks.levels[:3])[0]),
        start_se=curve.se * curve.width**0.5,  # of a single value, as the others are means
        held_out=False,
        basis=basis,
        single=curve.values,
        learnt=_learnt(reward, curve.steps),
        rose_to=_rose_to(reward),
        task=task,
    )


RISEN = 2.0
"""Standard errors by which the train reward is above its start at a step, if the fact table says that it rose."""


def _trained(look: Look, before: int | None) -> MetricFacts | None:
    reward = look.series(look.reward)
    part = None if reward is None else _until(reward, before)
    return None if part is None or not len(part) else alone(look.reward, part)


def _learnt(train: MetricFacts | None, steps: Ints) -> NDArray[np.bool_]:
    """Whether the smoothed train reward was above the start of its curve, beyond the error of both, at each step. False
    at every step if the fact table reports no rise, so that the two never disagree."""
    gain = _gain(train, steps)
    if train is None or train.curve is None or gain is None:
        return np.zeros(len(steps), dtype=np.bool_)
    half = train.curve.width // 2 + 1  # points that the first value of the curve averages
    return np.asarray(gain >= RISEN * train.curve.se * np.sqrt(1.0 + train.curve.width / half))


def _gain(train: MetricFacts | None, steps: Ints) -> Floats | None:
    """What the train reward had gained by each step, if it rose at all."""
    curve = None if train is None or _rose_to(train) is None else train.curve
    if curve is None:
        return None
    at = np.minimum(curve.steps.searchsorted(steps), len(curve.steps) - 1)
    return np.asarray(curve.values[at] - curve.values[0])


BEHIND = 0.25
"""Share of what the train reward gained of its way to 1. Validation that cannot have gained this much of its own way
has no part in that gain (as in `train-val-divergence`)."""


def _keeps_up(train: MetricFacts | None, steps: Ints, value: Floats, error: float) -> NDArray[np.bool_]:
    """Whether validation may share in what the train reward had gained by each step, if both are shares. `error`: that
    of the difference between a value and the first. On other scales this is unknown, and it may."""
    gain = _gain(train, steps)
    shares = train is not None and all(float(x.min()) >= 0.0 and float(x.max()) <= 1.0 for x in (train.values, value))
    if train is None or train.curve is None or gain is None or not shares:
        return np.ones(len(steps), dtype=np.bool_)
    part = gain / max(1e-9, 1.0 - float(train.curve.values[0]))
    return np.asarray(value - value[0] + RISEN * error >= BEHIND * part * (1.0 - value[0]))


def _rose_to(metric: MetricFacts) -> float | None:
    """The last window, if the metric rose since its start. So a run reported to have risen has a step that beats its
    start."""
    since = metric.since_start
    return metric.end.value if since is not None and since.direction > 0 else None


def _by_sets(sets: Sequence[Series], facts: MetricFacts, train: MetricFacts | None) -> Ranking | None:
    main = sets[0]
    curve = smoothed(main, None)
    if curve is None:
        return None
    width, value, value_se = curve.width, curve.values, curve.se
    points = np.sqrt(min(least_of(width), len(main)))
    score, se, basis, single = value, value_se, f"validation, {main.key}", main.values
    if len(sets) > 1:
        single = mean_z(sets)
        score, se = borne_out(single, width), float(sd_d(single[-NOISE_POINTS:]) / points)
        basis = f"validation, mean z of {', '.join(s.key for s in sets)}"
    if not (np.isfinite(value).all() and np.isfinite(score).all() and np.isfinite(value_se) and np.isfinite(se)):
        return None
    return Ranking(
        steps=main.steps,
        score=score,
        se=se,
        width=width,
        key=main.key,
        value=value,
        value_se=value_se,
        start=float(main.values[0]),
        start_se=value_se * width**0.5,
        held_out=True,
        basis=basis,
        single=single,
        learnt=_learnt(train, main.steps) & _keeps_up(train, main.steps, value, value_se * float(np.sqrt(1 + width))),
        sets=len(sets),
        rose_to=_rose_to(facts),
        logged=main.values,
    )


def usable(saved: Sequence[Checkpoint], last_step: int, broken_at: int | None) -> list[Checkpoint]:
    """Checkpoints that are complete (as far as known), up to `last_step` and before `broken_at`."""
    end = last_step + 1 if broken_at is None else min(broken_at, last_step + 1)
    return [c for c in saved if c.step < end and c.complete is not False]


def best_saved(r: Ranking, kept: Sequence[Checkpoint]) -> Checkpoint:
    """The checkpoint to keep, of at least one usable one.

    By train reward alone, it is the earliest within one standard error of the best: of states that the reward cannot
    distinguish, this one has drifted least, and reward goes on rising after the true score has turned (arXiv
    2210.10760).
    """
    score = {c.step: float(r.score[r.nearest(c.step)]) for c in kept}
    least = max(score.values()) - (0.0 if r.held_out else r.se)
    return min((c for c in kept if score[c.step] >= least), key=lambda c: c.step)


def peak(r: Ranking, broken_at: int | None = None) -> int:
    """Index of the best point before `broken_at`."""
    end = len(r.score) if broken_at is None else max(1, int(r.steps.searchsorted(broken_at)))
    return highest(r.score[:end])
