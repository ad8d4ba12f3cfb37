"""The checkpoint to keep: best by smoothed validation, before anything broke, and on disk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rltui.diagnosis.look import Look
from rltui.diagnosis.model import BestCheckpoint
from rltui.diagnosis.trends import sd_d
from rltui.run.run import Checkpoint
from rltui.run.table import Floats, Series

NOISE_ROWS = 500  # newest rows that give the standard error


def smooth(x: Floats, width: int) -> Floats:
    """Centred mean of `width` points, fewer at both ends."""
    n, half = len(x), width // 2
    total = np.empty(n + 1)
    total[0] = 0.0
    np.cumsum(x, out=total[1:])
    smoothed: Floats = np.empty(n)
    full = 2 * half + 1
    if n > full:
        smoothed[half : n - half] = (total[full:] - total[:-full]) / full
    i = np.arange(n) if n <= full else np.r_[0:half, n - half : n]
    low, high = np.maximum(0, i - half), np.minimum(n, i + half + 1)
    smoothed[i] = (total[high] - total[low]) / (high - low)
    return smoothed


def best_checkpoint(
    look: Look, saved: Sequence[Checkpoint], broken_at: int | None, truth: str | None = None
) -> BestCheckpoint | None:
    """Best saved state by validation, else by train reward (or by `truth`, the component that is the real task).

    Only states before `broken_at`, the onset of the worst fault, count. Without any checkpoint in sight the best
    step is named with `on_disk` None. None where no metric ranks the steps.
    """
    series, width = _ranking(look, truth)
    if series is None:
        return None
    values = smooth(series.values, width)
    if not np.isfinite(values).all():
        return None  # values so large that their mean overflows rank nothing
    spread = sd_d(series.values[-NOISE_ROWS:]) / np.sqrt(min(width, len(values)))
    error = float(spread) if np.isfinite(spread) else None
    end = len(values) if broken_at is None else max(1, int(series.steps.searchsorted(broken_at)))
    usable = [
        c
        for c in saved
        if c.step <= look.step and (broken_at is None or c.step <= broken_at) and c.complete is not False
    ]
    if usable:
        at = [_nearest(series, c.step) for c in usable]
        scores = [float(values[i]) for i in at]
        top = max(range(len(usable)), key=lambda i: (scores[i], -usable[i].step))
        chosen = usable[top]
        return BestCheckpoint(chosen.step, chosen.path, chosen.complete, series.key, scores[top], error)
    top = int(values[:end].argmax())
    on_disk = False if saved else None
    return BestCheckpoint(int(series.steps[top]), None, on_disk, series.key, float(values[top]), error)


def _ranking(look: Look, truth: str | None) -> tuple[Series | None, int]:
    held_out = look.series("val_score")
    if held_out is not None and len(held_out) >= 3:
        return held_out, 5 if len(held_out) >= 10 else 3
    reward = look.series(truth) if truth is not None else look.series(look.reward)
    if reward is None or len(reward) < 5:
        return None, 0
    return reward, max(5, min(51, len(reward) // 20 * 2 + 1))


def _nearest(series: Series, step: int) -> int:
    i = int(np.searchsorted(series.steps, step))
    if i == len(series):
        return i - 1
    if i and step - int(series.steps[i - 1]) <= int(series.steps[i]) - step:
        return i - 1
    return i
