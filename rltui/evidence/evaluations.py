"""Which points of a validation metric are evaluations."""

from __future__ import annotations

from functools import cache

import numpy as np

from rltui.frameworks.load import metrics
from rltui.run.table import Series

MOST_ROWS = 0.9
"""Share of the rows that hold the metric if it is carried along; evaluations of their own are seldom so dense."""
STANDS = 3
"""Rows that each value stands for at least. Two evaluations in a row come out alike by chance where few questions are
asked; that none of them lasts one row or two is no chance."""
SHORT = 0.05
"""Share of the values that may stand for fewer: rows that were lost or written twice."""
LEAST = 10
"""Points below which nothing is taken for carried along."""


@cache
def held_out() -> frozenset[str]:
    """Canonical names of the metrics that are measured on data that is not trained on."""
    return frozenset(name for name, meaning in metrics().items() if meaning.group == "validation")


def evaluations(series: Series) -> Series:
    """The evaluations of a validation metric: all its points, or the first of each stretch of equal ones if the run
    logs its last evaluation again in each row until the next. Repetitions are no evidence: they would make an error of
    the mean too small, and an evaluation look like a trend. A metric that never changes is left as it is."""
    count = len(series)
    if count < LEAST or count < MOST_ROWS * (int(series.rows[-1]) - int(series.rows[0]) + 1):
        return series
    changes = np.flatnonzero(np.diff(series.values)) + 1
    if not len(changes) or STANDS * len(changes) > count:
        return series
    stood = np.diff(changes, prepend=0)  # the newest value still stands
    if (stood < STANDS).sum() > SHORT * len(stood):
        return series
    first = np.zeros(count, dtype=np.bool_)
    first[0] = first[changes] = True
    return series.where(first)
