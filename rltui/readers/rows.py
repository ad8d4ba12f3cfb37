"""Rows under construction: dicts in, columns out."""

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
from rltui.readers.number_text import shown_number
from rltui.text import clean_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Column = array[float] | Floats

MAX_KEYS = 5000
"""Distinct keys kept of one file: a trainer writes hundreds, a file that is no metrics file may hold millions."""
MAX_COUNTED = 1 << 16
TOO_MANY = f"metrics beyond the first {MAX_KEYS}"
MAX_CELLS = 1 << 22
"""Cells of one block: rows whose keys keep changing would fill the memory with missing cells otherwise."""
FEW_CELLS = 1 << 12
"""Up to so many cells are looked at one by one. The newest rows of a log are fewer: they are read without numpy, which
takes longer to import than they to show."""

_NUMBERS = {int, float}


def number(value: object) -> float | None:
    """The number a logged value holds: also of "0.0316", "NaN", and "tensor(0.5)", as `json.dumps(.., default=str)`
    writes it. None for anything else, booleans too."""
    if isinstance(value, float):
        return value
    if isinstance(value, bool):
        return None
    try:
        return float(value) if isinstance(value, int | str) else None
    except OverflowError:
        return nan  # an integer beyond the floats: logged, not finite
    except ValueError:
        return shown_number(value) if isinstance(value, str) else None


class _Gathered(Struct):
    """Rows of equal keys in equal order, from row `start` on: numbers row after row, and the columns at the places
    `other`, which do not hold numbers alone."""

    start: int
    keys: list[str]
    other: list[int]
    cells: list[list[Any]]
    numbers: list[bytes] = field(default_factory=list)


class RowBuilder:
    """Collects rows in file order. `accept` says which keys are metrics (not the step, not the time); those beyond
    `MAX_KEYS` are counted in `skipped` and `skipped_at`, see `Reader`. `zoned`: see `Rows`."""

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
        """The keys that came so far."""
        return self._names.keys()

    def add(self, step: int, cells: Mapping[str, object], time: float = nan) -> None:
        """One row; what is no number is left out."""
        self.add_alike([step], [cells], [time], plain=False)

    def add_alike(
        self,
        steps: Sequence[int],
        rows: Sequence[Mapping[str, object]],
        times: Iterable[float] | None = None,
        *,
        plain: bool,
    ) -> None:
        """Rows of equal keys in equal order. `plain` promises that no value is a NaN, an infinity or a huge integer, as
        orjson's values are."""
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
            self._put(key, start, *_cells(flat[place :: len(keys)]))

    def add_columns(self, steps: NDArray[np.int64], times: Floats, columns: Mapping[str, Floats]) -> None:
        """Rows as columns: a NaN is a missing cell, an infinity one that was logged as not finite."""
        import numpy as np

        if len(self._rows) and (len(self._rows) + len(steps)) * (len(self._rows.values) + len(columns)) > MAX_CELLS:
            self._close()
        self._settle()
        start = len(self._rows)
        self._rows.steps.frombytes(steps.tobytes())
        self._rows.times.frombytes(times.tobytes())
        with np.errstate(over="ignore", invalid="ignore"):
            sums = [np.add.reduce(cells) for cells in columns.values()]  # quicker than to look at each cell
        for (key, cells), total in zip(columns.items(), sums, strict=True):
            bad: list[int] = []
            if not isfinite(total):  # or the sum is too large
                bad = np.flatnonzero(np.isinf(cells)).tolist()
                if not bad and np.isnan(cells).all():
                    continue
                cells = np.where(np.isinf(cells), nan, cells)
            self._put(key, start, cells, bad)

    def _gather(self, keys: list[str], flat: list[Any], start: int) -> None:
        """Takes cells, row after row, without cutting them into columns as long as the keys stay the same: a few rows
        at a time are quick to parse, many to cut."""
        other, numbers = _numbers(flat, len(keys))
        held = self._gathered
        if held is None or held.keys != keys or held.other != other:
            self._settle()
            for key in keys:  # now: what is accepted may change with the rows that follow
                if key not in self._names:
                    self._name(key)
            held = self._gathered = _Gathered(start, keys, other, [[] for _ in other])
        held.numbers.append(numbers)
        for place, cells in zip(other, held.cells, strict=True):
            cells += flat[place :: len(keys)]

    def _settle(self) -> None:
        """Cuts what was gathered into columns."""
        held, self._gathered = self._gathered, None
        if held is None:
            return
        cells = dict(zip(held.other, held.cells, strict=True))
        numbers = _columns(b"".join(held.numbers), len(held.keys) - len(cells))
        for place, key in enumerate(held.keys):
            if place in cells:
                self._put(key, held.start, *_cells(cells[place]))
            else:
                self._put(key, held.start, next(numbers), [])

    def _put(self, key: str, start: int, cells: Column | None, bad: list[int]) -> None:
        """A column of the rows from `start` on. `bad`: the places of what was logged as NaN or an infinity."""
        name = self._names[key] if key in self._names else self._name(key)
        if name is None or cells is None:
            return
        held = self._rows.values.get(name)
        if held is None:
            held = self._rows.values[name] = array("d")
        if len(held) < start:
            held.extend(repeat(nan, start - len(held)))
        if len(held) > start:
            _overlay(held, cells, start)  # two raw keys that clean to one name
        elif isinstance(cells, array):
            held.extend(cells)
        else:
            held.frombytes(cells.data.cast("B"))
        if bad:
            self._rows.nonfinite.setdefault(name, []).extend(start + i for i in bad)

    def take(self) -> list[Rows]:
        """The finished blocks, each with columns of equal length; the builder is empty afterwards."""
        self._close()
        done, self._done = self._done, []
        return done

    def _close(self) -> None:
        self._settle()
        block, self._rows = self._rows, Rows()
        if len(block):
            block.zoned = self.zoned
            for column in block.values.values():
                if len(column) < len(block):
                    column.extend(repeat(nan, len(block) - len(column)))
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


def _cells(column: Sequence[object]) -> tuple[array[float] | None, list[int]]:
    """A column as floats and the places of non-finite values; no column at all where nothing is a number."""
    cells = array("d")
    bad = []
    present = False
    for i, value in enumerate(column):
        x = number(value)
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
    """Cells of rows of `width`, row after row: the places in a row that hold something else than numbers, and the cells
    of all other places as float64.

    True and False, which pass for 1 and 0, are looked for only where there is a 1 or a 0: the types of many cells cost
    more than their numbers.
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
    """The cells as float64, less those at some places of each row. `struct.error` where one is no number. An array made
    of the list, or numpy's, takes three times as long."""
    left = flat.copy() if left_out else flat
    for place in reversed(left_out):
        del left[place::width]
        width -= 1
    return struct.pack(f"{len(left)}d", *left)


def _suspects(cells: bytes, width: int) -> Sequence[int]:
    """The columns that hold a 1 or a 0; of few cells all."""
    if len(cells) <= 8 * FEW_CELLS:
        return range(width)
    import numpy as np

    grid = np.frombuffer(cells, dtype=np.float64).reshape(-1, max(width, 1))
    found: list[int] = np.flatnonzero(((grid == 0.0) | (grid == 1.0)).any(axis=0)).tolist()
    return found


def _columns(cells: bytes, width: int) -> Iterator[Column]:
    """The columns of a grid of float64, row after row."""
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
