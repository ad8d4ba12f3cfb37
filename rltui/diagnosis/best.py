"""The checkpoint to keep: best by its ranking, before anything broke, and on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, log, sqrt

import numpy as np

from rltui.evidence.facts import smoothed
from rltui.evidence.look import Look
from rltui.evidence.model import BestCheckpoint
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import running_medians, sd_d, smooth
from rltui.rules.base import Params
from rltui.run.run import Checkpoint
from rltui.run.table import Floats, Ints, Series

EVALS = 3  # a validation set that was looked at less often ranks nothing
COVERS = 0.8  # share of the evaluations that another set must have been part of
NOISE_ROWS = 500  # newest rows that give the standard error


@dataclass(frozen=True, slots=True)
class Ranking:
    """`score` decides: smoothed over `width` points, at `steps`, with standard error `se`. `value` and `value_se` are
    the smoothed metric that people see (`key`, in its own unit) at the same steps; `start` is its first logged value.
    `held_out`: validation, not train reward. `basis` says in words what ranks."""

    steps: Ints
    score: Floats
    se: float
    width: int
    key: str
    value: Floats
    value_se: float
    start: float
    held_out: bool
    basis: str

    def nearest(self, step: int) -> int:
        """Index of the ranked point nearest to a step, of two the earlier."""
        i = int(np.searchsorted(self.steps, step))
        if i == len(self.steps):
            return i - 1
        return i - 1 if i and step - int(self.steps[i - 1]) <= int(self.steps[i]) - step else i


def ranking(look: Look) -> Ranking | None:
    """Validation by the set that the user named (`--map val_score=KEY`), else by all sets that were evaluated together,
    else train reward. None where neither has enough points, or where values overflow.

    Several sets count alike whatever their scale: the mean of their z (each over its own evaluations). A set that is
    mere noise then moves the smoothed mean by little.
    """
    sets = _validation_sets(look)
    if sets:
        return _by_sets(sets)
    return _by_reward(look)


def _by_reward(look: Look) -> Ranking | None:
    """The smoothed curve whose best point is the peak of the fact table: a spike of one batch is no best state."""
    reward, blocks = look.series(look.reward), look.blocks(look.reward)
    curve = smoothed(reward, blocks) if reward is not None and blocks is not None else None
    if reward is None or blocks is None or curve is None:
        return None
    start = float(running_medians(blocks.medians)[0])
    basis = "train reward only: low confidence"
    return Ranking(
        curve.steps, curve.values, curve.se, curve.width, reward.key, curve.values, curve.se, start, False, basis
    )


def _validation_sets(look: Look) -> list[Series]:
    """The sets that rank, cut to the evaluations that all of them were part of; the one that the run is judged by
    first."""
    main = look.series("val_score")
    if main is None or len(main) < EVALS:
        return []
    if look.forced("val_score"):
        return [main]
    sets, rows = [main], main.rows
    for other in look.family("val_score").values():
        common = np.intersect1d(rows, other.rows)
        if other.key != main.key and len(common) >= max(EVALS, COVERS * len(rows)):
            sets, rows = [*sets, other], common
    return sets if len(sets) == 1 else [_at(s, rows) for s in sets]


def _at(s: Series, rows: Ints) -> Series:
    keep = np.isin(s.rows, rows)
    return Series(s.key, s.steps[keep], s.values[keep], s.rows[keep], s.times[keep])


def _z(x: Floats) -> Floats:
    """In sd of the evaluations themselves; all 0 where they are all alike."""
    sd = float(np.std(x))
    return (x - x.mean()) / sd if sd > 0 else np.zeros(len(x))


def _by_sets(sets: list[Series]) -> Ranking | None:
    main = sets[0]
    curve = smoothed(main, None)
    if curve is None:
        return None
    width, value, value_se = curve.width, curve.values, curve.se
    points = np.sqrt(min(width, len(main)))
    score, se, basis = value, value_se, f"validation, {main.key}"
    if len(sets) > 1:
        z: Floats = np.mean([_z(s.values) for s in sets], axis=0)
        score, se = smooth(z, width), float(sd_d(z[-NOISE_ROWS:]) / points)
        basis = f"validation, mean z of {', '.join(s.key for s in sets)}"
    if not (np.isfinite(value).all() and np.isfinite(score).all() and np.isfinite(value_se) and np.isfinite(se)):
        return None
    start = float(main.values[0])
    return Ranking(main.steps, score, se, width, main.key, value, value_se, start, True, basis)


GAIN = 2.0  # standard errors below which a best step is not better than the start


def usable(saved: Sequence[Checkpoint], last_step: int, broken_at: int | None) -> list[Checkpoint]:
    """Whole checkpoints (as far as anybody can tell) up to `last_step` and before `broken_at`."""
    end = last_step + 1 if broken_at is None else min(broken_at, last_step + 1)
    return [c for c in saved if c.step < end and c.complete is not False]


def peak(r: Ranking, broken_at: int | None = None) -> int:
    """Index of the best point before `broken_at`."""
    end = len(r.score) if broken_at is None else max(1, int(r.steps.searchsorted(broken_at)))
    return int(r.score[:end].argmax())


def best_checkpoint(
    r: Ranking | None, saved: Sequence[Checkpoint], last_step: int, broken_at: int | None
) -> BestCheckpoint | None:
    """The saved state whose smoothed score is best. None where nothing ranks the steps.

    Only states before `broken_at`, the onset of the worst fault, count. Without a usable checkpoint the best step is
    named: `on_disk` False where some are saved but none of use, None where none is in sight.

    By train reward alone the earliest within one standard error of the best is named: of states that it cannot tell
    apart this one has drifted least, and reward goes on rising where the true score has turned (arXiv 2210.10760).
    """
    if r is None:
        return None
    kept = usable(saved, last_step, broken_at)
    if not kept:
        at = peak(r, broken_at)
        return _told(r, at, int(r.steps[at]), None, False if saved else None)
    score = {c.step: float(r.score[r.nearest(c.step)]) for c in kept}
    best = max(score.values())
    alike = [c for c in kept if score[c.step] >= best - (0.0 if r.held_out else r.se)]
    top = min(alike, key=lambda c: c.step)
    return _told(r, r.nearest(top.step), top.step, top.path, top.complete)


def _told(r: Ranking, at: int, step: int, path: str | None, on_disk: bool | None) -> BestCheckpoint:
    value, basis = float(r.value[at]), r.basis
    start_se = r.value_se * r.width**0.5  # a single value, where the others are means
    beats = value - r.start >= GAIN * hypot(r.value_se, start_se) and value > r.start
    if not beats:
        basis += "; not distinguishable from the start" if value >= r.start else "; no better than the start"
    return BestCheckpoint(step, path, on_disk, r.key, value, r.value_se, basis, beats)


def checkpoint_signal(
    look: Look, r: Ranking | None, saved: Sequence[Checkpoint], broken_at: int | None, over: bool, p: Params
) -> Signal | None:
    """`over`: no further save is to come. A peak after the newest save is no loss yet while the run goes on."""
    if r is None or not saved:
        return None
    metric = look.reward if not r.held_out else "val_score"
    kept = usable(saved, look.step, broken_at)
    if not kept:
        if broken_at is None:
            return None
        text = f"No whole checkpoint from before step {broken_at}, where the worst fault began, is on disk."
        return Signal(CRITICAL, text, ((metric, ""),), onset_step=broken_at)
    passed = broken_at if over or broken_at is not None else max(c.step for c in saved) + 1
    top = max(float(r.score[r.nearest(c.step)]) for c in kept)
    at = peak(r, passed)
    lost = (float(r.score[at]) - top) / r.se if r.se > 0 else 0.0
    chance = sqrt(2.0 * log(max(2.0, len(r.score) / r.width)))  # the best of so many independent means, in se
    texts = [t for t in (_rotation(look, r, kept, over), _by_loss(look)) if t]
    level = NOTICE
    if lost > p["se"] + chance or (r.held_out and lost > p["se"]):
        step = int(r.steps[at])
        near = min((c.step for c in kept), key=lambda s: abs(s - step))
        texts.insert(0, f"The best step is {step} ({num(float(r.value[at]))}); the nearest one saved is {near}.")
        level = WARNING if r.held_out and lost > p["se"] + chance else NOTICE
    if not texts:
        return None
    return Signal(level, " ".join(texts), ((metric, r.basis),), onset_step=int(r.steps[at]))


def _rotation(look: Look, r: Ranking, kept: Sequence[Checkpoint], over: bool) -> str:
    """What the next save will clear away."""
    most = look.settings.number("max_checkpoints")
    first, best = kept[0], max(kept, key=lambda c: (float(r.score[r.nearest(c.step)]), -c.step))
    if over or not most or most < 2 or len(kept) < most or best is not first:
        return ""
    return f"The best saved one, of step {best.step}, is the oldest of {num(most)}: the next save deletes it."


def _by_loss(look: Look) -> str:
    name = look.settings.word("best_metric")
    return f"The trainer keeps its best by {name}, which is no score of the task." if "loss" in name else ""
