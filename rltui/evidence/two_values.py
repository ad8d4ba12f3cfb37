"""Detects rewards of 0 and one other value from their mean and standard deviation alone.

If single answers earn 0 or `c`, their variance is `m (c - m)` in every batch of mean `m`. Each row then gives `c`, and
all rows give the same one. Rewards with more values, or a deviation within groups, do not agree on one.
"""

from __future__ import annotations

import numpy as np

from rltui.run.sums import median
from rltui.run.table import Floats

ROWS = 10
"""Rows that have to agree."""
ALIKE = 0.02
"""Share of the value by which rows may differ: a sample of 32 answers has a deviation 1.6 % above that of the whole."""
MOVES = 0.1
"""Share of the value by which the means have to differ: at a single mean, any deviation gives some value."""


def top_of_two(mean: Floats, deviation: Floats) -> float | None:
    """The higher of two values of which the lower is 0; None if the rows do not show that there are two. Both columns
    hold the same rows."""
    told = np.isfinite(mean) & np.isfinite(deviation) & (mean > 0) & (deviation > 0)
    mean, deviation = mean[told], deviation[told]
    if len(mean) < ROWS:
        return None
    tops = mean + deviation * deviation / mean
    top = median(tops)
    agree = bool((np.abs(tops - top) <= ALIKE * top).all())
    return top if agree and float(mean.max() - mean.min()) >= MOVES * top else None
