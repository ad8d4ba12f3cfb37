"""Which points of a validation metric are evaluations, and which validation sets count together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rltui.evidence.effects import noise, noise_of_few
from rltui.frameworks.load import metrics
from rltui.run.table import Floats, Ints, Series

MOST_ROWS = 0.5
"""If more than this share of the rows holds the metric, its last value may be repeated in each row. It is more than
half, as some rows may be lost."""
STANDS = 3
"""Rows that each value stands for at least. Two evaluations in a row come out alike by chance where few questions are
asked; that none of them lasts one row or two is no chance."""
SHORT = 0.05
"""Share of the values that may stand for fewer: rows that were lost or written twice."""
OFF = 0.25
"""Share of the rows between two evaluations by which a value may stand too long or too short, for the same reason."""
LEAST = 10
"""With fewer points no value counts as repeated."""
FEW = 3
"""A validation set with fewer evaluations is ignored."""
ROUNDED = 0.005
"""A set is the mean of the others if it lies nearer to it than this share of what lies between them: of accuracies that
are printed with three digits."""
COVERS = 0.8
"""A set needs this share of the evaluations of the set that has most."""


@cache
def held_out() -> frozenset[str]:
    """Canonical names of the metrics that are measured on data that is not trained on."""
    return frozenset(name for name, meaning in metrics().items() if meaning.group == "validation")


def evaluations(series: Series) -> Series:
    """The evaluations of a validation metric: all its points, or one for each evaluation if the run repeats the last
    value in each row until the next. Repetitions are no evidence: they would make the error of a mean too small and
    make one evaluation look like a trend. A metric that never changes is left as it is."""
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


LONE = 8.0
"""Sd of the others' noise by which a lone evaluation lies beyond both of its neighbours, which are near each other: it
failed, or another model was evaluated."""
NEAR = 3.0
"""By so many times the distance between them."""


def without_lone(x: Floats) -> Floats:
    """The evaluations, one that lies far from its neighbours on both sides as their mean: no level is drawn by it."""
    for _ in range(1 + len(x) // PART):
        if len(x) < FIVE:
            return x
        before, after = x[1:-1] - x[:-2], x[1:-1] - x[2:]
        beyond = np.where(np.sign(before) == np.sign(after), np.minimum(np.abs(before), np.abs(after)), 0.0)
        at = int(beyond.argmax())
        rest = np.delete(x, at + 1)
        sd = noise_of_few(rest) if len(rest) < FEW_POINTS else noise(rest)
        if sd <= 0.0 or beyond[at] <= LONE * sd or beyond[at] <= NEAR * abs(float(x[at + 2] - x[at])):
            return x
        x = x.copy()
        x[at + 1] = x[at] / 2.0 + x[at + 2] / 2.0  # no sum that overflows
    return x


def confirmed(x: Floats) -> Floats:
    """As `without_lone`, and without a newest one that lies as far from the one before: the next one tells which of
    them is the level."""
    x = without_lone(x)
    before = x[:-1]
    if len(before) < FIVE:
        return x
    sd = noise_of_few(before) if len(before) < FEW_POINTS else noise(before)
    return before if 0.0 < LONE * sd < abs(float(x[-1] - before[-1])) else x


FIVE, FEW_POINTS, PART = 5, 10, 10
"""Fewer evaluations have no such neighbours; fewer tell their noise as few do; of each ten one may be a lone one."""


class Validated(Protocol):
    """The first rows of a run, as far as validation sets are sought in them."""

    def series(self, name: str) -> Series | None: ...

    def family(self, name: str) -> dict[str, Series]: ...

    def forced(self, name: str) -> bool: ...


def validation_sets(seen: Validated) -> list[Series]:
    """The set that the user named (`--map val_score=KEY`) alone, else all validation sets. The first is the one that
    stands for validation in the tables; nothing else may hang on their order, which is that of the log. Empty without
    validation."""
    main = seen.series("val_score")
    if main is None:
        return []
    others = [] if seen.forced("val_score") else seen.family("val_score").values()
    return _without_mean([main, *(one for one in others if one.key != main.key)])


def _without_mean(sets: list[Series]) -> list[Series]:
    """The sets without one that is the mean of all others: it is no evidence of its own."""
    first = sets[0].rows
    if len(sets) < 3 or len(first) < FEW or not all(np.array_equal(one.rows, first) for one in sets[1:]):
        return sets
    values = np.array([one.values for one in sets])
    off = np.abs((values.sum(axis=0) - values) / (len(sets) - 1) - values).max(axis=1)
    apart = float(np.ptp(values, axis=0).max())
    at = int(off.argmin())
    return sets[:at] + sets[at + 1 :] if off[at] < ROUNDED * apart else sets


def together(sets: Sequence[Series]) -> list[Series]:
    """Those of the sets that count alike, each at the same evaluations: the first, which has most of them, and all that
    have nearly as many since they began. The evaluations are those of the set with the fewest; another that was
    not part of one (a hole, sets that take turns) stands between its neighbours there. Empty with fewer than 3."""
    if not sets or len(sets[0]) < FEW:
        return []
    alike = [one for one in sets if len(one) >= max(FEW, COVERS * len(sets[0]))]
    fewest = min(alike, key=lambda one: (len(one), -one.rows[-1], one.rows[0], one.key))
    grid = fewest.since_row(max(int(one.rows[0]) for one in alike))
    return [_at(one, grid) for one in alike] if len(grid) >= FEW else []


def _at(one: Series, grid: Series) -> Series:
    if len(one) == len(grid) and np.array_equal(one.rows, grid.rows):
        return one
    values = np.interp(grid.rows, one.rows, one.values)
    return Series(one.key, grid.steps, values, grid.rows, grid.times)


def mean_z(sets: Sequence[Series]) -> Floats:
    """What sets that count alike say together, whatever the scale of each: the mean of their z, each over its own
    evaluations. A set that is mere noise then moves a smoothed mean by little."""
    z: Floats = np.mean([_z(one.values) for one in sets], axis=0)
    return z


def _z(x: Floats) -> Floats:
    """In sd of the evaluations themselves; all 0 where they are all alike."""
    sd = float(np.std(x))
    return (x - x.mean()) / sd if sd > 0 else np.zeros(len(x))
