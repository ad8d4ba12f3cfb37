"""Which points of a validation metric are evaluations."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from rltui.frameworks.load import metrics
from rltui.run.table import Ints, Series

MOST_ROWS = 0.5
"""Share of the rows that hold the metric if it is carried along: more than half, as some may be lost."""
STANDS = 3
"""Rows that each value stands for at least. Two evaluations in a row come out alike by chance where few questions are
asked; that none of them lasts one row or two is no chance."""
SHORT = 0.05
"""Share of the values that may stand for fewer: rows that were lost or written twice."""
OFF = 0.25
"""Share of the rows between two evaluations by which a value may stand too long or too short, for the same reason."""
LEAST = 10
"""Points below which nothing is taken for carried along."""


@cache
def held_out() -> frozenset[str]:
    """Canonical names of the metrics that are measured on data that is not trained on."""
    return frozenset(name for name, meaning in metrics().items() if meaning.group == "validation")


def evaluations(series: Series) -> Series:
    """The evaluations of a validation metric: all its points, or one for each time that it was evaluated if the run
    logs its last evaluation again in each row until the next. Repetitions are no evidence: they would make an error of
    the mean too small, and an evaluation look like a trend. A metric that never changes is left as it is."""
    count, rows = len(series), series.rows
    if count < LEAST or count < MOST_ROWS * (int(rows[-1]) - int(rows[0]) + 1):
        return series
    begins = np.concatenate(([0], np.flatnonzero(np.diff(series.values)) + 1))
    if len(begins) < 2 or STANDS * (len(begins) - 1) > count:
        return series
    stood = np.diff(rows[begins])  # the newest value still stands
    every = int(np.sort(stood)[int(SHORT * len(stood))])
    if every < STANDS:
        return series
    return series.where(_evaluated(rows, begins, every))


def _evaluated(rows: Ints, begins: Ints, every: int) -> NDArray[np.bool_]:
    """The first point of each value, and of one that stands for several times as long the first of each time: the next
    evaluation came out alike. Where values do not stand for multiples of a time, nobody knows when that was."""
    slack = int(OFF * every)
    stood = np.diff(rows[begins], append=rows[-1] + 1)  # the newest so far
    first = np.zeros(len(rows), dtype=np.bool_)
    first[begins] = True
    if (np.abs(stood - every * np.rint(stood / every)) > slack)[:-1].sum() <= SHORT * (len(stood) - 1):
        of = np.cumsum(first) - 1
        time = (rows - rows[begins][of]) // every
        time[stood[of] - every * time <= slack] -= 1  # a lost row made the one before longer
        first[1:] |= time[1:] > time[:-1]
    return first
