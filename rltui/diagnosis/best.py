"""The checkpoint to keep: best by its ranking, before anything broke, and on disk."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

from rltui.evidence.effects import ROUNDING
from rltui.evidence.model import BestCheckpoint
from rltui.evidence.ranking import Ranking, best_saved, peak, usable
from rltui.evidence.signal import num
from rltui.run.run import Checkpoint

GAIN = 2.0  # standard errors below which a best step is not better than the start


def best_checkpoint(
    r: Ranking | None, saved: Sequence[Checkpoint], last_step: int, broken_at: int | None
) -> BestCheckpoint | None:
    """The saved state whose smoothed score is best. None where nothing ranks the steps.

    Only states before `broken_at`, the onset of the worst fault, count. Without a usable checkpoint the best step is
    named: `on_disk` False where some are saved but none of use, None where none is in sight.
    """
    if r is None:
        return None
    kept = usable(saved, last_step, broken_at)
    if not kept:
        at = peak(r, broken_at)
        return _told(r, at, int(r.steps[at]), None, False if saved else None)
    top = best_saved(r, kept)
    return _told(r, r.nearest(top.step), top.step, top.path, top.complete)


def _told(r: Ranking, at: int, step: int, path: str | None, on_disk: bool | None) -> BestCheckpoint:
    value, against = float(r.value[at]), ""
    start_se = r.value_se * r.width**0.5  # a single value, where the others are means
    least = r.start + GAIN * hypot(r.value_se, start_se)
    beats = value >= least and value > r.start
    if not beats:
        against = "not distinguishable from the start" if value >= r.start else "no better than the start"
        against += f" of {num(r.start)}" + (f", where a gain would take {num(least)}" if least > r.start else "")
    basis = f"{r.basis}, {against}" if against else r.basis
    se = r.value_se if r.value_se > ROUNDING * abs(value) else None  # values that are all alike tell none
    return BestCheckpoint(step, path, on_disk, r.key, value, se, basis, beats, against, r.sets)
