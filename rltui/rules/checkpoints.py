"""Whether the checkpoint that is worth keeping is on disk."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

from rltui.evidence.above_start import beats_start
from rltui.evidence.beside_rows import Standing
from rltui.evidence.look import Look
from rltui.evidence.peak import least_of
from rltui.evidence.ranking import Ranking, best_saved, peak, usable
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.rules.base import Memory, Params, rule
from rltui.run.run import Checkpoint


@rule("best-checkpoint-unavailable", Standing, able=lambda seen: bool(seen.saved))
def best_checkpoint_unavailable(seen: Standing, p: Params, memory: Memory) -> list[Signal]:
    """The best state is not on disk, or will soon be deleted. While the run goes on, a peak after the newest save is
    not yet lost."""
    look, r, saved, broken_at, over = seen.look, seen.ranked, seen.saved, seen.broken_at, seen.over
    if r is None:
        return []
    metric = look.reward if not r.held_out else "val_score"
    kept = usable(saved, look.step, broken_at)
    if not kept:
        if broken_at is None or not _better_than_start(r, peak(r, broken_at)):
            return []
        text = f"No whole checkpoint from before step {broken_at}, where the worst fault began, is on disk."
        return [Signal(CRITICAL, text, ((metric, ""),), onset_step=broken_at)]
    passed = broken_at if over or broken_at is not None else max(c.step for c in saved) + 1
    best, top = best_saved(r, kept), max(float(r.score[r.nearest(c.step)]) for c in kept)
    near, at = r.nearest(best.step), peak(r, passed)
    lost = _lost(r, at, best.step, top) if _better_than_start(r, at) else 0.0
    chance = sqrt(2.0 * log(max(2.0, len(r.score) / r.width)))  # the best of so many independent means, in se
    texts = [t for t in (_rotation(look, r, kept, over), _by_loss(look)) if t]
    level = NOTICE
    if lost > p["se"] + chance:
        step = int(r.steps[at])
        reached, saved_at = (num(float(r.value[i])) for i in (at, near))
        texts.insert(0, f"Step {step} was better ({reached}) than the best one saved, {best.step} ({saved_at}).")
        level = WARNING if r.held_out else NOTICE
    if not texts:
        return []
    return [Signal(level, " ".join(texts), ((metric, r.basis),), onset_step=int(r.steps[at]))]


def _better_than_start(r: Ranking, at: int) -> bool:
    """Whether the state is better than the start, or may be because the start is unknown. Otherwise losing it costs
    nothing."""
    return r.untrained is not None or beats_start(r, at)


def _lost(r: Ranking, at: int, saved: int, top: float) -> float:
    """By how many standard errors the best state is better than the best saved one (step `saved`, score `top`).
    Neighbouring evaluations share their means, so only their single scores tell them apart. A state saved between two
    evaluations may be as good as the better of them. The newest evaluation is not part of a mean."""
    if r.se <= 0:
        return 0.0
    near = r.nearest(saved)
    if r.held_out and abs(at - near) <= r.width // 2:
        after = min(int(r.steps.searchsorted(saved)), len(r.steps) - 1)
        around = [after] if r.steps[after] == saved else [max(0, after - 1), after]
        best = max(float(r.single[i]) for i in around)
        return (float(r.single[at]) - best) / (r.se * sqrt(2.0 * least_of(r.width)))
    newest = r.held_out and near == len(r.score) - 1
    return (float(r.score[at]) - top) / (r.se * sqrt(least_of(r.width)) if newest else r.se)


def _rotation(look: Look, r: Ranking, kept: Sequence[Checkpoint], over: bool) -> str:
    """What the next save will delete."""
    most = look.settings.number("max_checkpoints")
    first, best = kept[0], best_saved(r, kept)
    if over or not most or most < 2 or len(kept) < most or best is not first:
        return ""
    return f"The best saved one, of step {best.step}, is the oldest of {num(most)}: the next save deletes it."


def _by_loss(look: Look) -> str:
    name = look.settings.word("best_metric")
    return f"The trainer keeps its best by {name}, which is no score of the task." if "loss" in name else ""
