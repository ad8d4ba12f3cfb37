"""Whether the first updates of a run went one way gradually: its KL rose without jumps, and its gradient became
smaller. Updates that are too large leap and come back; these follow a goal, whether it is the intended one or not."""

from __future__ import annotations

import numpy as np

from rltui.evidence.trends import sd_d, trend
from rltui.run.sums import median
from rltui.run.table import Series

FIRST_STEPS, LEAST = 60, 16
"""The first steps of a run that are looked at, and the fewest rows needed among them."""
BEGINS, HALF = 3, 2
"""Rows that show the beginning. The noise is that of the second half, as a KL of 0 doubles with each row."""
ROUGH = 0.3
"""Noise of the logarithm of the KL from row to row: policies that learn have .1 to .2, those that leap by
factors have 1."""
APART = 10.0
"""Times its beginning that the KL has to reach: a KL that stays shows nothing."""
SHRUNK = 0.8
"""The most that the gradient may be by then, as a share of its beginning. It must also fall beyond its noise."""


def steady_drift(kl: Series | None, gradient: Series | None) -> bool | None:
    """Whether they did; None if the log does not show the first steps of both, or too few rows of them."""
    if kl is None or gradient is None or kl.steps[0] > BEGINS or gradient.steps[0] > BEGINS:
        return None
    upto = int(kl.steps[0]) + FIRST_STEPS
    x, g = (one.values[: int(one.steps.searchsorted(upto))] for one in (kl, gradient))
    if min(len(x), len(g)) < LEAST or not (x > 0).all():
        return None
    late = x[len(x) // HALF :]
    first, now = median(x[:BEGINS]), median(late)
    smooth = sd_d(np.log(late)) <= ROUGH and now >= APART * first
    shrank = median(g[len(g) // HALF :]) <= SHRUNK * median(g[:BEGINS]) and trend(g).direction < 0
    return bool(smooth and shrank)


def rose_meanwhile(series: Series | None) -> float | None:
    """The share of its beginning by which a metric rose in those steps; None as in `steady_drift`."""
    if series is None or series.steps[0] > BEGINS:
        return None
    x = series.values[: int(series.steps.searchsorted(int(series.steps[0]) + FIRST_STEPS))]
    first = median(x[:BEGINS])
    return None if len(x) < LEAST or first <= 0 else median(x[len(x) // HALF :]) / first - 1.0
