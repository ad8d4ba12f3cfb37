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
"""If more than this share of the rows holds the metric, its last value may be repeated in each row. It is not 1, as
some rows may be lost."""
STANDS = 3
"""The least number of rows for which each value is repeated. Two evaluations in a row may be equal by chance if few
questions are asked, but it is no chance that none lasts only one or two rows."""
SHORT = 0.05
"""Share of the values that may be repeated in fewer rows: rows may be lost or written twice."""
OFF = 0.25
"""Share of the rows between two evaluations by which a value may last too long or too short, for the same reason."""
LEAST = 10
"""With fewer points no value counts as repeated."""
FEW = 3
"""A validation set with fewer evaluations is ignored."""
ROUNDED = 0.005
"""A set counts as the mean of the others if its distance to that mean is below this share of the distance between the
sets. This suits accuracies that are printed with three digits."""
COVERS = 0.8
"""A set needs this share of the evaluations of the set that has the most."""


@cache
def held_out() -> frozenset[str]:
    """Canonical names of the metrics that are measured on held-out data."""
    return frozenset(name for name, meaning in metrics().items() if meaning.group == "validation")


def evaluations(series: Series) -> Series:
    """The evaluations of a validation metric: all its points, or one for each evaluation if the run repeats the last
    value in each row until the next. Repetitions are not evidence: they would make the error of a mean too small and
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
    """Marks the first point of each value. If a value lasts several times as long as usual, it also marks the first
    point of each of these periods: the next evaluation came out equal. If values do not last for multiples of a period,
    nobody knows when that was."""
    slack = int(OFF * every)
    stood = np.diff(rows[begins], append=rows[-1] + 1)  # the newest so far
    first = np.zeros(len(rows), dtype=np.bool_)
    first[begins] = True
    if (np.abs(stood - every * np.rint(stood / every)) > slack)[:-1].sum() <= SHORT * (len(stood) - 1):
        of = np.cumsum(first) - 1
        time = (rows - rows[begins][of]) // every
        time[stood[of] - every * time <= slack] -= 1  # a lost row made the period before it longer
        first[1:] |= time[1:] > time[:-1]
    return first


LONE = 8.0
"""A lone evaluation lies this many sd of the others' noise beyond both of its neighbours, which are near each other: it
failed, or another model was evaluated."""
NEAR = 3.0
"""It also lies beyond them by this many times the distance between them."""


def without_lone(x: Floats) -> Floats:
    """The evaluations, with each lone one that is far from both of its neighbours replaced by their mean, so that it
    does not pull any level."""
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
        x[at + 1] = x[at] / 2.0 + x[at + 2] / 2.0  # halved before the sum, so that it cannot overflow
    return x


def confirmed(x: Floats) -> Floats:
    """As `without_lone`, and without the newest one if it lies as far from the one before: the next one shows which of
    them is the level."""
    x = without_lone(x)
    before = x[:-1]
    if len(before) < FIVE:
        return x
    sd = noise_of_few(before) if len(before) < FEW_POINTS else noise(before)
    return before if 0.0 < LONE * sd < abs(float(x[-1] - before[-1])) else x


FIVE, FEW_POINTS, PART = 5, 10, 10
"""With fewer evaluations there are no such neighbours; with fewer than the second number, the noise is measured as for
few. One of each ten (the third) may be a lone one."""


class Validated(Protocol):
    """The first rows of a run, as far as the search for validation sets needs them."""

    def series(self, name: str) -> Series | None: ...

    def family(self, name: str) -> dict[str, Series]: ...

    def forced(self, name: str) -> bool: ...


def validation_sets(seen: Validated) -> list[Series]:
    """The set that the user named (`--map val_score=KEY`) alone, else all validation sets. The first represents
    validation in the tables. Nothing else may depend on their order, which is that of the log. Empty without
    validation."""
    main = seen.series("val_score")
    if main is None:
        return []
    others = [] if seen.forced("val_score") else seen.family("val_score").values()
    return _without_mean([main, *(one for one in others if one.key != main.key)])


def _without_mean(sets: list[Series]) -> list[Series]:
    """The sets without one that is the mean of all others: that one adds no evidence."""
    first = sets[0].rows
    if len(sets) < 3 or len(first) < FEW or not all(np.array_equal(one.rows, first) for one in sets[1:]):
        return sets
    values = np.array([one.values for one in sets])
    off = np.abs((values.sum(axis=0) - values) / (len(sets) - 1) - values).max(axis=1)
    apart = float(np.ptp(values, axis=0).max())
    at = int(off.argmin())
    return sets[:at] + sets[at + 1 :] if off[at] < ROUNDED * apart else sets


def together(sets: Sequence[Series]) -> list[Series]:
    """The sets that count together, each at the same evaluations: the first, which has the most, and all that have
    nearly as many since they began. The evaluations are those of the set with the fewest. A set without a value at one
    of them (a hole, sets that take turns) gets a value interpolated between its neighbours. Empty with fewer than 3."""
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
    """What sets that count together show, whatever the scale of each: the mean of their z values, each over its own
    evaluations. A set that is mere noise then moves a smoothed mean only a little."""
    z: Floats = np.mean([_z(one.values) for one in sets], axis=0)
    return z


def _z(x: Floats) -> Floats:
    """In sd of the evaluations themselves; all 0 if they are all equal."""
    sd = float(np.std(x))
    return (x - x.mean()) / sd if sd > 0 else np.zeros(len(x))
