"""Reads many lines at once: cells that polars parsed are put back in the order of the file."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from math import inf, isfinite, nan

import numpy as np
from numpy.typing import NDArray

from rltui.readers.base import NO_STEP, Rows
from rltui.readers.byte_texts import KeyTable
from rltui.readers.keys import FINER_UNITS, LAST_SECOND, MAX_STEP, SINCE_EPOCH, StepColumn, times_of
from rltui.readers.rows import measured, number
from rltui.text import clean_key

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FEW_LINES = 16
"""Fewer lines than this are parsed just as fast one by one."""
ODD_SHARE = 8
"""If more than one line in this many is odd, putting the pieces together costs more than parsing line by line."""


class ManyLines:
    """The lines of one read, by their places: those that polars parsed, and the rest."""

    def __init__(self, lines: int) -> None:
        self._taken = np.zeros(lines, dtype=np.bool_)
        self._groups: list[tuple[Ints, Mapping[str, Floats]]] = []

    def take(self, at: Ints, columns: Mapping[str, Floats]) -> None:
        """Takes lines of one schema, at rising places. In a column, NaN means a missing cell, infinity a cell that was
        logged as not finite."""
        self._taken[at] = True
        self._groups.append((at, columns))

    def rest(self) -> Ints:
        """The places of the lines that have not been taken yet."""
        return np.flatnonzero(~self._taken)

    def stretches(self) -> Iterator[tuple[int, int, bool]]:
        """(first line, line after the last, whether polars parsed them) of each stretch, in order and without gaps. If
        there would be too many stretches, all lines are one."""
        borders = [0, *(np.flatnonzero(self._taken[1:] != self._taken[:-1]) + 1).tolist(), len(self._taken)]
        if len(borders) > 2 + len(self._taken) // ODD_SHARE:
            yield 0, len(self._taken), False
            return
        for start, stop in pairwise(borders):
            yield start, stop, bool(self._taken[start])

    def columns(self, start: int, stop: int) -> dict[str, Floats]:
        """The columns of a stretch that polars parsed."""
        columns: dict[str, Floats] = {}
        for at, own in self._groups:
            first, last = (int(place) for place in at.searchsorted((start, stop)))
            if last - first == stop - start:  # no line of another schema between
                columns = {key: cells[first:last] for key, cells in own.items()}
                break
            places = at[first:last] - start
            for key, cells in own.items() if len(places) else ():
                if key not in columns:
                    columns[key] = np.full(stop - start, np.nan)
                columns[key][places] = cells[first:last]
        return columns


def halving(at: Ints, parse: Callable[[Ints], bool]) -> None:
    """Parses lines at once. If one of them is odd, each half is parsed separately, until only a few lines are left
    around it."""
    if len(at) < FEW_LINES or parse(at):
        return
    middle = len(at) // 2
    halving(at[:middle], parse)
    halving(at[middle:], parse)


def groups(marks: Ints) -> Iterator[Ints]:
    """The places of each mark that at least `FEW_LINES` lines have: fewer lines are not worth a schema."""
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
    """The steps of `count` rows, the first in line `first`; `NO_STEP` for a row that is counted."""
    if cells is None:
        return np.full(count, NO_STEP)
    if isinstance(cells, np.ndarray) and not (column.counted or column.in_doubt) and whole(cells, MAX_STEP).all():
        return cells.astype(np.int64)
    stated = [column.step(None if cell != cell else cell, line) for line, cell in enumerate(cells, first)]
    return np.array(stated, dtype=np.int64)


def times(cells: Floats | Sequence[str]) -> Floats:
    """`time_of` of each cell."""
    if not isinstance(cells, np.ndarray):
        return np.array(times_of(list(cells)), dtype=np.float64)
    seconds: Floats = cells
    for _ in range(FINER_UNITS):
        seconds = np.where(seconds > LAST_SECOND, seconds / 1000, seconds)
    return np.where((seconds > SINCE_EPOCH) & (seconds <= LAST_SECOND), seconds, nan)


def no_times(count: int) -> Floats:
    return np.full(count, nan)


def numbers(name: str, cells: Floats | Sequence[str]) -> Floats:
    """The cells of a column as numbers. NaN means a missing cell or a word, infinity a cell that was logged as not
    finite."""
    if isinstance(cells, np.ndarray):
        return cells
    found = [nan if (x := measured(name, cell)) is None else x if isfinite(x) else inf for cell in cells]
    return np.array(found, dtype=np.float64)


def table_columns(block: bytes, separator: str, count: int, words: Set[int]) -> list[Floats | list[str]] | None:
    """The columns of complete lines; None if a line is odd: quotes, another number of cells, or text in a column of
    numbers. Columns in `words` are returned as text. In the others, NaN means an empty cell, infinity a cell that was
    logged as not finite."""
    import polars as pl

    if b'"' in block or b"\0" in block or count < 2:
        return None
    signs = np.frombuffer(block, dtype=np.uint8)  # numpy counts far quicker
    lines = np.count_nonzero(signs == ord("\n"))
    schema = {str(place): pl.String if place in words else pl.Float64 for place in range(count)}
    try:
        frame = pl.read_csv(block, has_header=False, separator=separator, quote_char=None, schema=schema)
    except pl.exceptions.PolarsError:
        return None
    if frame.height != lines:
        return None
    if frame[:, -1].null_count() and np.count_nonzero(signs == ord(separator)) != lines * (count - 1):
        return None  # polars fills up short rows, but refuses long ones
    numbers = frame.drop([str(place) for place in words]) if words else frame
    grid = numbers.to_numpy(order="fortran")
    if not np.isfinite(grid).all():
        grid = numbers.fill_nan(np.inf).to_numpy(order="fortran")
    cells = iter(grid.T)
    return [frame[name].fill_null("").to_list() if kind == pl.String else next(cells) for name, kind in schema.items()]


def repeats_a_step(steps: Floats | list[str], before: int) -> bool:
    """Whether two successive rows have the same step. `before`: the step of the row before the first."""
    found = steps if isinstance(steps, np.ndarray) else np.array([number(x) for x in steps], dtype=np.float64)
    return bool(len(found) and (found[0] == before or (found[1:] == found[:-1]).any()))


MAX_CELLS = 1 << 22
"""The most cells (columns times rows) of one grid; a larger batch is split."""


class Grid:
    """The columns of one file: raw keys as they come, their clean names, and rows made from a filled grid."""

    def __init__(self) -> None:
        self.table = KeyTable()
        self.names: list[str] = []
        self.by_name: dict[str, int] = {}
        self._columns: list[int] = []  # key number -> column: two raw keys may have one clean name

    def columns(self, keys: Ints) -> Ints:
        """The columns of these key numbers."""
        for key in self.table.keys[len(self._columns) :]:
            name = clean_key(key.decode("utf-8", "replace"))
            column = self.by_name.get(name)
            if column is None:
                column = self.by_name[name] = len(self.names)
                self.names.append(name)
            self._columns.append(column)
        known: Ints = np.array(self._columns, dtype=np.int64)
        return known[keys]

    def rows(self, grid: Floats, steps: Ints, times: Floats) -> Rows:
        """The rows of a grid (columns by rows). NaN means a missing cell, infinity a cell that was logged as not
        finite."""
        rows = Rows()
        rows.steps.frombytes(steps.tobytes())
        rows.times.frombytes(times.tobytes())
        infinite = np.isinf(grid)
        unfit = set(np.flatnonzero(infinite.any(axis=1)).tolist())
        for column in np.flatnonzero(~np.isnan(grid).all(axis=1)).tolist():
            values = grid[column]
            if column in unfit:
                values[infinite[column]] = np.nan
                rows.nonfinite[self.names[column]] = np.flatnonzero(infinite[column]).tolist()
            filled = array("d")
            filled.frombytes(values.tobytes())
            rows.values[self.names[column]] = filled
        return rows
