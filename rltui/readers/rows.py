"""Collects rows, given as dicts, and returns them as columns."""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from rltui.readers.base import Rows
from rltui.readers.cell_units import with_unit
from rltui.readers.number_text import shown_number
from rltui.text import clean_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Column = array[float] | Floats

MAX_KEYS = 5000
"""The most keys that are kept from one file: a trainer writes hundreds, but a file without metrics may hold
millions."""
MAX_COUNTED = 1 << 16
TOO_MANY = f"metrics beyond the first {MAX_KEYS}"
MAX_CELLS = 1 << 22
"""The most cells in a block. Without a limit, rows whose keys keep changing would fill the memory with missing
cells."""
FEW_CELLS = 1 << 12
"""Up to this many cells are handled one by one. The newest rows of a log have fewer, so they are read without numpy,
whose import would take longer than showing them."""

_NUMBERS = {int, float}


def number(value: object) -> float | None:
    """The number in a logged value, which may be text: "0.0316", "NaN", or "tensor(0.5)" (from `json.dumps(..,
    default=str)`). None for anything else, including booleans."""
    if isinstance(value, float):
        return value
    if isinstance(value, bool):
        return None
    try:
        return float(value) if isinstance(value, int | str) else None
    except OverflowError:
        return nan  # an integer too large for a float: counts as not finite
    except ValueError:
        return shown_number(value) if isinstance(value, str) else None


def measured(name: str, value: object) -> float | None:
    """The number in a metric's value. Its text may also hold a unit, whose meaning may depend on `name`."""
    found = number(value)
    return with_unit(name, value) if found is None and isinstance(value, str) else found


class _Gathered(Struct):
    """Rows with equal keys in equal order, from row `start` on. `numbers`: the numbers, row after row; `cells`: the
    columns at the places `other`, which do not hold only numbers."""

    start: int
    keys: list[str]
    other: list[int]
    cells: list[list[Any]]
    numbers: list[bytes] = field(default_factory=list)


class RowBuilder:
    """Collects rows in file order. `accept` decides which keys are metrics (not the step, not the time). Keys beyond
    `MAX_KEYS` are counted in `skipped` and `skipped_at` (see `Reader`). `zoned`: see `Rows`."""

    def __init__(
        self, skipped: Counter[str], skipped_at: dict[str, str], accept: Callable[[str], bool] = lambda key: True
    ) -> None:
        self._skipped, self._skipped_at = skipped, skipped_at
        self._beyond: set[int] = set()  # hashes of the keys that were counted
        self._accept = accept
        self._names: dict[str, str | None] = {}
        self._done: list[Rows] = []
        self._rows = Rows()
        self._gathered: _Gathered | None = None
        self.zoned = False

    @property
    def names(self) -> Collection[str]:
        """The keys seen so far."""
        return self._names.keys()

    def add(
        self, step: int, cells: Mapping[str, object], time: float = nan, *, behind: bool = False, anew: bool = False
    ) -> None:
        """Adds one row; cells that are not numbers are left out. `behind`, `anew`: see `Rows`."""
        self.add_alike([step], [cells], [time], plain=False)
        if behind:
            self._rows.behind.append(len(self._rows) - 1)
        if anew:
            self._rows.anew.append(len(self._rows) - 1)

    def add_alike(
        self,
        steps: Sequence[int],
        rows: Sequence[Mapping[str, object]],
        times: Iterable[float] | None = None,
        *,
        plain: bool,
    ) -> None:
        """Adds rows with equal keys in equal order. `plain` promises that no value is NaN, infinite or a huge integer,
        as holds for orjson's values."""
        if len(self._rows) and (len(self._rows) + len(rows)) * (len(self._rows.values) + len(rows[0])) > MAX_CELLS:
            self._close()
        start = len(self._rows)
        self._rows.steps.extend(steps)
        self._rows.times.extend(repeat(nan, len(steps)) if times is None else times)
        keys = list(rows[0])
        flat = list(chain.from_iterable([row.values() for row in rows]))
        if plain:
            self._gather(keys, flat, start)
            return
        self._settle()
        for place, key in enumerate(keys):
            self._put(key, start, *_cells(key, flat[place :: len(keys)]))

    def add_columns(self, steps: NDArray[np.int64], times: Floats, columns: Mapping[str, Floats]) -> None:
        """Adds rows given as columns. NaN means a missing cell, infinity a cell that was logged as not finite."""
        import numpy as np

        if len(self._rows) and (len(self._rows) + len(steps)) * (len(self._rows.values) + len(columns)) > MAX_CELLS:
            self._close()
        self._settle()
        start = len(self._rows)
        self._rows.steps.frombytes(steps.tobytes())
        self._rows.times.frombytes(times.tobytes())
        with np.errstate(over="ignore", invalid="ignore"):
            sums = [np.add.reduce(cells) for cells in columns.values()]  # faster than looking at each cell
        for (key, cells), total in zip(columns.items(), sums, strict=True):
            bad: list[int] = []
            if not isfinite(total):  # or the sum is too large
                bad = np.flatnonzero(np.isinf(cells)).tolist()
                if not bad and np.isnan(cells).all():
                    continue
                cells = np.where(np.isinf(cells), nan, cells)
            self._put(key, start, cells, bad)

    def _gather(self, keys: list[str], flat: list[Any], start: int) -> None:
        """Takes cells, row after row. While the keys stay the same, the cells are not yet cut into columns: parsing is
        fastest with a few rows at a time, cutting with many rows at once."""
        other, numbers = _numbers(flat, len(keys))
        held = self._gathered
        if held is None or held.keys != keys or held.other != other:
            self._settle()
            for key in keys:  # now, because `accept` may change with the rows that follow
                if key not in self._names:
                    self._name(key)
            held = self._gathered = _Gathered(start, keys, other, [[] for _ in other])
        held.numbers.append(numbers)
        for place, cells in zip(other, held.cells, strict=True):
            cells += flat[place :: len(keys)]

    def _settle(self) -> None:
        """Cuts the gathered cells into columns."""
        held, self._gathered = self._gathered, None
        if held is None:
            return
        cells = dict(zip(held.other, held.cells, strict=True))
        numbers = _columns(b"".join(held.numbers), len(held.keys) - len(cells))
        for place, key in enumerate(held.keys):
            if place in cells:
                self._put(key, held.start, *_cells(key, cells[place]))
            else:
                self._put(key, held.start, next(numbers), [])

    def _put(self, key: str, start: int, cells: Column | None, bad: list[int]) -> None:
        """Adds the column of one key for the rows from `start` on. `bad`: the places of cells that were logged as NaN
        or infinity."""
        name = self._names[key] if key in self._names else self._name(key)
        if name is None or cells is None:
            return
        held = self._rows.values.get(name)
        if held is None:
            held = self._rows.values[name] = array("d")
        if len(held) < start:
            held.extend(repeat(nan, start - len(held)))
        if len(held) > start:
            _overlay(held, cells, start)  # two keys have the same cleaned name
        elif isinstance(cells, array):
            held.extend(cells)
        else:
            held.frombytes(cells.data.cast("B"))
        if bad:
            self._rows.nonfinite.setdefault(name, []).extend(start + i for i in bad)

    def take(self) -> list[Rows]:
        """Returns the finished blocks, each with columns of equal length, and empties the builder."""
        self._close()
        done, self._done = self._done, []
        return done

    def _close(self) -> None:
        self._settle()
        block, self._rows = self._rows, Rows()
        rows = len(block)
        if rows:
            block.zoned = self.zoned
            for column in block.values.values():
                if len(column) < rows:
                    column.extend(repeat(nan, rows - len(column)))
            self._done.append(block)

    def _name(self, key: str) -> str | None:
        if len(self._names) >= MAX_KEYS:
            if hash(key) not in self._beyond and len(self._beyond) < MAX_COUNTED:
                self._beyond.add(hash(key))
                self._skipped[TOO_MANY] += 1
                self._skipped_at.setdefault(TOO_MANY, clean_key(key)[:60])
            return None
        name = clean_key(key).strip() if self._accept(key) else ""
        self._names[key] = name or None
        return name or None


def _cells(key: str, column: Sequence[object]) -> tuple[array[float] | None, list[int]]:
    """A column as floats, and the places of non-finite values; None for the column if it holds no number."""
    cells = array("d")
    bad = []
    present = False
    for i, value in enumerate(column):
        x = measured(key, value)
        if x is None:
            x = nan
        else:
            present = True
            if not isfinite(x):
                bad.append(i)
                x = nan
        cells.append(x)
    return (cells if present else None), bad


def _numbers(flat: list[Any], width: int) -> tuple[list[int], bytes]:
    """Splits the cells of rows of `width`, given row after row. Returns the places in a row that do not hold only
    numbers, and the cells of all other places as float64.

    True and False, which become 1 and 0, are only looked for in columns with a 1 or a 0, because checking the types of
    many cells takes longer than checking their numbers.
    """
    other = [place for place in range(width) if type(flat[place]) not in _NUMBERS]
    try:
        cells = _packed(flat, width, other)
    except struct.error:
        other = [place for place in range(width) if not _all_numbers(flat[place::width])]
        return other, _packed(flat, width, other)
    suspects = _suspects(cells, width - len(other))
    if suspects:
        places = [place for place in range(width) if place not in other]
        flags = [places[at] for at in suspects if not _all_numbers(flat[places[at] :: width])]
        if flags:
            other = sorted((*other, *flags))
            cells = _packed(flat, width, other)
    return other, cells


def _packed(flat: list[Any], width: int, left_out: list[int]) -> bytes:
    """The cells as float64, without those at the places `left_out` of each row. Raises struct.error if one is not a
    number. Making an `array` or a numpy array of the list would take three times as long."""
    left = flat.copy() if left_out else flat
    for place in reversed(left_out):
        del left[place::width]
        width -= 1
    return struct.pack(f"{len(left)}d", *left)


def _suspects(cells: bytes, width: int) -> Sequence[int]:
    """The columns that hold a 1 or a 0; all columns if there are only a few cells."""
    if len(cells) <= 8 * FEW_CELLS:
        return range(width)
    import numpy as np

    grid = np.frombuffer(cells, dtype=np.float64).reshape(-1, max(width, 1))
    found: list[int] = np.flatnonzero(((grid == 0.0) | (grid == 1.0)).any(axis=0)).tolist()
    return found


def _columns(cells: bytes, width: int) -> Iterator[Column]:
    """The columns of float64 cells that are given row after row."""
    if len(cells) <= 8 * FEW_CELLS:
        rows = array("d", cells)
        return (rows[place::width] for place in range(width))
    import numpy as np

    return iter(np.ascontiguousarray(np.frombuffer(cells, dtype=np.float64).reshape(-1, max(width, 1)).T))


def _all_numbers(column: list[Any]) -> bool:
    return set(map(type, column)) <= _NUMBERS


def _overlay(held: array[float], cells: Iterable[float], start: int) -> None:
    for i, value in enumerate(cells, start):
        if i >= len(held):
            held.append(value)
        elif value == value:
            held[i] = value
