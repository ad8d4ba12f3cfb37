"""Many lines at once: cells that polars parsed, put back in the order of the file.

Polars reads only lines of which it is certain: they have the schema of their group, and each cell is a plain number.
Whatever is odd is left to the reader's own parser, in its place. Both give the same values, so that it makes no
difference how the bytes came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, isfinite, nan

import numpy as np
from numpy.typing import NDArray

from rltui.readers.base import NO_STEP
from rltui.readers.keys import MAX_STEP, MILLISECONDS, SINCE_EPOCH, StepColumn, times_of
from rltui.readers.rows import number

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FEW_LINES = 16
"""So few lines are parsed as fast one by one."""
ODD_SHARE = 8
"""One odd line in so many, each in another place: putting the pieces together costs more than parsing every line."""


class ManyLines:
    """The lines of one read by their places: those that polars took, and the rest."""

    def __init__(self, lines: int) -> None:
        self._taken = np.zeros(lines, dtype=np.bool_)
        self._steps: Ints = np.zeros(lines, dtype=np.int64)
        self._times: Floats = np.full(lines, np.nan)
        self._groups: list[tuple[Ints, Mapping[str, Floats]]] = []

    def take(self, at: Ints, steps: Ints, times: Floats | None, columns: Mapping[str, Floats]) -> None:
        """Lines of one schema, at rising places. A NaN in a column is a missing cell, an infinity one that was logged
        as not finite."""
        self._taken[at] = True
        self._steps[at] = steps
        if times is not None:
            self._times[at] = times
        self._groups.append((at, columns))

    def rest(self) -> Ints:
        """The places of the lines that nobody took yet."""
        return np.flatnonzero(~self._taken)

    def stretches(self) -> Iterator[tuple[int, int, bool]]:
        """First line, the one behind the last, and whether polars took them: in order, nothing between."""
        borders = [0, *(np.flatnonzero(self._taken[1:] != self._taken[:-1]) + 1).tolist(), len(self._taken)]
        if len(borders) > 2 + len(self._taken) // ODD_SHARE:
            yield 0, len(self._taken), False
            return
        for start, stop in pairwise(borders):
            yield start, stop, bool(self._taken[start])

    def rows(self, start: int, stop: int) -> tuple[Ints, Floats, dict[str, Floats]]:
        """Steps, times and columns of a stretch that polars took."""
        columns: dict[str, Floats] = {}
        for at, own in self._groups:
            first, last = (int(place) for place in at.searchsorted((start, stop)))
            if last - first == stop - start:  # nothing of another schema between
                columns = {key: cells[first:last] for key, cells in own.items()}
                break
            places = at[first:last] - start
            for key, cells in own.items() if len(places) else ():
                if key not in columns:
                    columns[key] = np.full(stop - start, np.nan)
                columns[key][places] = cells[first:last]
        return self._steps[start:stop], self._times[start:stop], columns


def halving(at: Ints, parse: Callable[[Ints], bool]) -> None:
    """Has lines parsed at once, or in halves where one of them is odd, until only few are left around it."""
    if len(at) < FEW_LINES or parse(at):
        return
    middle = len(at) // 2
    halving(at[:middle], parse)
    halving(at[middle:], parse)


def groups(marks: Ints) -> Iterator[Ints]:
    """The places of equal marks, most frequent ones only: a group of few lines is not worth a schema."""
    kinds, of = np.unique(marks, return_inverse=True)
    for kind in range(len(kinds)):
        at: Ints = np.flatnonzero(of == kind)
        if len(at) >= FEW_LINES:
            yield at


def whole(cells: Floats, most: int) -> Flags:
    """Which cells are whole numbers from 0 to `most`, as steps are."""
    found: Flags = (cells >= 0) & (cells <= most) & (np.floor(cells) == cells)
    return found


def steps(cells: Floats | Sequence[str] | None, count: int, column: StepColumn, first: int) -> Ints:
    """The steps of `count` rows, the first in line `first`: `NO_STEP` for one that is counted."""
    if cells is None:
        return np.full(count, NO_STEP)
    if isinstance(cells, np.ndarray) and not column.counted and whole(cells, MAX_STEP).all():
        return cells.astype(np.int64)
    stated = [column.step(None if cell != cell else cell, line) for line, cell in enumerate(cells, first)]
    return np.array(stated, dtype=np.int64)


def times(cells: Floats | Sequence[str]) -> Floats:
    """Of each cell `time_of`."""
    if not isinstance(cells, np.ndarray):
        return np.array(times_of(list(cells)), dtype=np.float64)
    seconds: Floats = np.where(np.abs(cells) > MILLISECONDS, cells / 1000, cells)
    return np.where((seconds > SINCE_EPOCH) & np.isfinite(seconds), seconds, nan)


def no_times(count: int) -> Floats:
    return np.full(count, nan)


def numbers(cells: Floats | Sequence[str]) -> Floats:
    """Cells as numbers: a NaN is a missing one or a word, an infinity one that was logged as not finite."""
    if isinstance(cells, np.ndarray):
        return cells
    found = [nan if (x := number(cell)) is None else x if isfinite(x) else inf for cell in cells]
    return np.array(found, dtype=np.float64)
