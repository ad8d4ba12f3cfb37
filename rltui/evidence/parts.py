"""How parts make up a total from row to row, and how noisy a series is on both sides of a step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rltui.evidence.effects import noise
from rltui.run.table import Series

LEAST_ROWS = 20
"""Rows that tell how noisy a metric is, or, beside one for each part, what goes with what."""
EXPLAINED = 0.8
"""Share of the total's changes from row to row that the logged parts must make up, for their weights to be known."""


def noise_around(series: Series, onset: int, end: int) -> tuple[float, float] | None:
    """Noise from row to row before step `onset`, and from there to step `end`; None if either side has too few rows."""
    at = int(series.steps.searchsorted(onset))
    stop = int(series.steps.searchsorted(end, "right"))
    before, after = series.values[:at], series.values[at:stop]
    return None if min(len(before), len(after)) < LEAST_ROWS else (noise(before), noise(after))


def weights(parts: Mapping[str, Series], total: Series) -> dict[str, tuple[float, float]] | None:
    """How much the total changes with each part, the others being equal (least squares of the changes from row to row),
    and that in standard errors. None if the steps that all have are too few, or if the parts do not make up the total.
    """
    steps = total.steps
    for series in parts.values():
        steps = np.intersect1d(steps, series.steps)
    if len(steps) <= LEAST_ROWS + len(parts):
        return None
    y, *columns = (np.diff(series.values[np.searchsorted(series.steps, steps)]) for series in (total, *parts.values()))
    moving = [(name, x) for name, x in zip(parts, columns, strict=True) if np.std(x) > 0]
    if not moving or not np.std(y) > 0:
        return None
    x = np.column_stack([column for _, column in moving])
    fitted, _, rank, _ = np.linalg.lstsq(x, y, rcond=None)
    left = float(np.square(y - x @ fitted).sum())
    if rank < len(moving) or left > (1.0 - EXPLAINED) * float(np.square(y).sum()):
        return None
    spread = np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * max(left / (len(y) - len(moving)), 1e-24))
    return {
        name: (float(weight), float(weight / se)) for (name, _), weight, se in zip(moving, fitted, spread, strict=True)
    }
