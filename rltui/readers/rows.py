"""Rows under construction: dicts in, columns out."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from math import isfinite, nan

import numpy as np

from rltui.readers.base import Rows
from rltui.text import clean

MAX_KEYS = 5000
"""Distinct keys kept of one file: a trainer writes hundreds, a file that is no metrics file may hold millions."""
MAX_CELLS = 1 << 22
"""Cells of one block: rows whose keys keep changing would fill the memory with missing cells otherwise."""

_NUMBERS = {int, float}


def number(value: object) -> float | None:
    """The number a logged value holds: also of "0.0316" and "NaN". None for anything else, booleans too."""
    if isinstance(value, float):
        return value
    if isinstance(value, bool):
        return None
    try:
        return float(value) if isinstance(value, int | str) else None
    except OverflowError:
        return nan  # an integer beyond the floats: logged, not finite
    except ValueError:
        return None


class RowBuilder:
    """Collects rows in file order. `accept` says which keys are metrics (not the step, not the time)."""

    def __init__(self, accept: Callable[[str], bool] = lambda key: True) -> None:
        self._accept = accept
        self._names: dict[str, str | None] = {}
        self._done: list[Rows] = []
        self._rows = Rows()

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
        block = self._rows
        start = len(block)
        block.steps.extend(steps)
        block.times.extend(repeat(nan, len(steps)) if times is None else times)
        for key, column in zip(rows[0], zip(*[row.values() for row in rows], strict=True), strict=True):
            name = self._names[key] if key in self._names else self._name(key)
            if name is None:
                continue
            cells, bad = _cells(column, plain)
            if cells is None:
                continue
            held = block.values.get(name)
            if held is None:
                held = block.values[name] = array("d")
            if len(held) < start:
                held.extend(repeat(nan, start - len(held)))
            if len(held) > start:
                _overlay(held, cells, start)  # two raw keys that clean to one name
            else:
                held.extend(cells)
            if bad:
                block.nonfinite.setdefault(name, []).extend(start + i for i in bad)

    def take(self) -> list[Rows]:
        """The finished blocks, each with columns of equal length; the builder is empty afterwards."""
        self._close()
        done, self._done = self._done, []
        return done

    def _close(self) -> None:
        block, self._rows = self._rows, Rows()
        if len(block):
            for column in block.values.values():
                if len(column) < len(block):
                    column.extend(repeat(nan, len(block) - len(column)))
            self._done.append(block)

    def _name(self, key: str) -> str | None:
        if len(self._names) >= MAX_KEYS:
            return None
        name = clean(key, 300).strip() if self._accept(key) else ""
        self._names[key] = name or None
        return name or None


def _cells(column: tuple[object, ...], plain: bool) -> tuple[array[float] | None, list[int]]:
    """A column as floats and the places of non-finite values; no column at all where nothing is a number."""
    if plain and (numbers := _plain(column)) is not None:
        return numbers, []
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


def _plain(column: tuple[object, ...]) -> array[float] | None:
    """A column that holds nothing but numbers, else None. True and False, which an array takes for 1 and 0, are looked
    for only where there is a 1 or a 0: the types of a long column cost more than its numbers."""
    cells: array[float] = array("d")
    if len(column) > 32:
        try:
            cells = array("d", column)  # type: ignore[arg-type]
        except TypeError:
            return None
        seen = np.frombuffer(cells, dtype=np.float64)
        if not ((seen == 0.0) | (seen == 1.0)).any():
            return cells
    if not set(map(type, column)) <= _NUMBERS:
        return None
    return cells or array("d", column)  # type: ignore[arg-type]


def _overlay(held: array[float], cells: array[float], start: int) -> None:
    for i, value in enumerate(cells, start):
        if i >= len(held):
            held.append(value)
        elif value == value:
            held[i] = value
