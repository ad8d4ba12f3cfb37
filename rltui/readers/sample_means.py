"""Rows of single samples: the mean of all samples of a step becomes the row of this step. If samples name their data
sets, the means of each set are added to that row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum, isfinite, nan

from rltui.readers.base import NO_STEP, Treated
from rltui.readers.row_kinds import beside, is_measure, of_a_set, row_words, set_of, words_of
from rltui.readers.rows import measured

Cells = Mapping[str, object]
StepRow = tuple[int, dict[str, object], float]
"""The step, cells and time of a row."""

ALONE = 3
AVERAGED = "rows of samples, averaged by step"


class SampleMeans:
    """Takes the rows of a file in order. Each row is returned unchanged, until two rows with equal keys follow each
    other at one step. From then on, the rows of a step are held until the step ends."""

    def __init__(self) -> None:
        self.on = False
        self._keys: tuple[str, ...] = ()
        self._step = NO_STEP
        self._time = nan
        self._held: list[Cells] = []
        self._open = False  # not all of the held rows are in a row that was returned
        self._averaged = 0
        self.alone = 0  # steps with a single row: from `ALONE` on, a step that comes twice is a step done again

    @property
    def step(self) -> int:
        """The step of the newest row."""
        return self._step

    def meet(self, rows: list[dict[str, object]], steps: list[int], times: list[float] | None) -> bool:
        """Whether these rows with equal keys must go through `add`; False if they can be used unchanged."""
        if not rows[0]:
            return False
        if self.on or len(set(steps)) < len(steps) or (steps[0] == self._step and tuple(rows[0]) == self._keys):
            return True
        self.alone += len(steps)
        self._keys, self._step, self._held = tuple(rows[-1]), steps[-1], [rows[-1]]
        self._time = nan if times is None else times[-1]
        return False

    def add(self, step: int, cells: dict[str, object], time: float) -> Iterator[StepRow]:
        """Takes one row; yields the rows that are complete with it."""
        keys = tuple(cells)
        if not self.on and step == self._step != NO_STEP and cells == self._held[-1]:
            yield step, cells, time  # written twice, or an equal sample: the mean is the same
            return
        if step == self._step != NO_STEP and keys == self._keys and (self.on or self.alone < ALONE):
            self._averaged += 1 if self.on and len(self._held) > 1 else 2 if len(self._held) == 1 else 1
            self.on = self._open = True
            self._held.append(cells)
            self._time = time
            return
        yield from self.so_far()
        self.alone += 1
        self._keys, self._step, self._time, self._held = keys, step, time, [cells]
        self._open = self.on
        if not self.on:
            yield step, cells, time

    def so_far(self) -> Iterator[StepRow]:
        """Yields the mean of the held rows, unless it was returned before."""
        if self._open:
            self._open = False
            yield self._step, _mean(self._held) | _means_of_sets(self._held), self._time

    def remarks(self) -> list[Treated]:
        """A remark on how many rows were averaged since the last call, if any were."""
        count, self._averaged = self._averaged, 0
        return [Treated(AVERAGED, count)] if count else []


def _mean(rows: list[Cells]) -> dict[str, object]:
    out: dict[str, object] = {}
    for key in rows[0]:
        values = [x for row in rows if (x := _number(key, row[key])) is not None]
        if values:
            out[key] = _mean_of(values)
    return out


def _means_of_sets(rows: list[Cells]) -> dict[str, object]:
    """The means of each data set, by names that include the set; none if all rows are of one set, or if one names no
    set."""
    by_set: dict[str, list[Cells]] = {}
    for row in rows:
        by_set.setdefault(set_of(row), []).append(row)
    if len(by_set) < 2 or "" in by_set:
        return {}
    aside = beside(rows[0])
    return {
        of_a_set(key, name): value
        for name, some in by_set.items()
        for key, value in _mean(some).items()
        if key not in aside
    }


def _mean_of(values: Sequence[float]) -> float:
    """The mean; NaN if a value is not finite. If the sum exceeds the largest float, the values are divided first."""
    if not all(map(isfinite, values)):
        return nan
    try:
        return fsum(values) / len(values)
    except OverflowError:
        return fsum(x / len(values) for x in values)


def _number(name: str, value: object) -> float | None:
    return float(value) if isinstance(value, bool) else measured(name, value)


def mean_cells(row: dict[str, object]) -> dict[str, object]:
    """The row with each list of measurements replaced by its mean (`rewards_mean` 0.5 for `"rewards": [1, 0]`), and
    each list with one value per parameter group replaced by its first value (`"lr": [1e-6, 1e-7]`)."""
    if not any(isinstance(value, list) for value in row.values()):
        return row
    out: dict[str, object] = {}
    for key, value in row.items():
        if isinstance(value, list) and value and not row_words().grouped.isdisjoint(words_of(key)):
            out[key] = value[0]
            continue
        if isinstance(value, list) and is_measure(key):
            numbers = [x for inner in value if (x := _number(key, inner)) is not None]
            if numbers and len(numbers) == len(value):
                out.setdefault(f"{key}_mean", _mean_of(numbers))
                continue
        out[key] = value
    return out
