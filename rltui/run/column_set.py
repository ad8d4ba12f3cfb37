"""The columns of a table by key: how a row or a block of rows is written to them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import isfinite, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rltui.readers.base import Rows
from rltui.run.columns import Axis, Column, Floats, Ints, room_for, with_room


def cells_of(rows: Rows, i: int) -> dict[str, float]:
    """The logged cells of one row of a block; a cell is NaN if NaN or an infinity was logged."""
    cells = {key: column[i] for key, column in rows.values.items() if i < len(column) and column[i] == column[i]}
    cells.update({key: nan for key, bad in rows.nonfinite.items() if i in bad})
    return cells


def _cells(rows: Rows, first: int, stop: int) -> tuple[Floats, NDArray[np.bool_]]:
    """The cells of some rows of a block, shape (columns, rows), and which of them hold a value."""
    parts = [memoryview(column)[first:stop] for column in rows.values.values()]
    count = stop - first
    if all(len(part) == count for part in parts):
        cells = np.frombuffer(b"".join(parts)).reshape(len(parts), count)
    else:
        cells = np.full((len(parts), count), nan)
        for own, part in zip(cells, parts, strict=True):
            own[: len(part)] = part
    held = np.isfinite(cells)
    for own, key in zip(held, rows.values, strict=True):
        if bad := rows.nonfinite.get(key):
            own[[i - first for i in bad if first <= i < stop]] = True
    return cells, held


class Filled(NamedTuple):
    """What new cells did to a row: `added` cells that it lacked, `revised` values that it had."""

    added: bool
    revised: bool


class Marked(NamedTuple):
    """The columns at one moment: the arrays of each axis with their number of points, and the arrays of each column."""

    axes: dict[Axis, tuple[Ints, Ints, Floats, int]]
    columns: dict[str, tuple[Axis, Floats, bool]]


class ColumnSet(dict[str, Column]):
    """A set of columns. Columns that are logged together share an axis. The table keeps the numbers, steps and times of
    the rows."""

    def axes(self) -> Iterator[tuple[Axis, list[str]]]:
        """Each axis with the keys of its columns."""
        groups: dict[Axis, list[str]] = {}
        for key, column in self.items():
            groups.setdefault(column.axis, []).append(key)
        yield from groups.items()

    def cells(self, row: int) -> dict[str, float]:
        """The logged cells of a row; a cell is NaN if NaN or an infinity was logged."""
        places: dict[Axis, int] = {}
        out = {}
        for key, column in self.items():
            axis = column.axis
            at = places.get(axis)
            if at is None:
                at = axis.place(row)
                at = places[axis] = at if axis.holds(row, at) else -1
            if at >= 0:
                out[key] = float(column.values[at])
        return out

    # -- a block -------------------------------------------------------------------------------------------------

    def extend(self, start: int, steps: Ints, times: Floats, rows: Rows, first: int) -> None:
        """Appends the rows of a block from its row `first` on, one for each of `steps`, as row `start` and those after
        it. It works column by column."""
        self._join_axes()
        block, filled = _cells(rows, first, first + len(steps))
        groups: dict[tuple[Axis | None, bytes], dict[str, int]] = {}  # axis and rows -> key -> its place in the block
        for place, (key, whole) in enumerate(
            zip(rows.values, np.logical_and.reduce(filled, axis=1).tolist(), strict=True)
        ):
            column = self.get(key)
            group = None if column is None else column.axis, b"" if whole else filled[place].tobytes()
            groups.setdefault(group, {})[key] = place
        for (axis, held), places in groups.items():
            where = np.frombuffer(held, dtype=np.bool_).nonzero()[0] if held else None
            if where is not None and not len(where):
                continue
            target = self._axis_of(axis, places)
            at = target.count
            if where is None:
                target.extend(np.arange(start, start + len(steps)), steps, times)
            else:
                target.extend(where + start, steps[where], times[where])
            if axis is None:  # one allocation for all new columns, as even a short log has many columns
                room = room_for(len(places), target.count)
                cells = block[list(places.values())]
                room[:, at : target.count] = cells if where is None else cells[:, where]
                for key, values in zip(places, room, strict=True):
                    self[key].values = values
            for key, place in places.items():
                column = self[key]
                if axis is not None:
                    column.values = with_room(column.values, at, target.count)
                    column.values[at : target.count] = block[place] if where is None else block[place][where]
                if rows.nonfinite.get(key):
                    column.all_finite = False

    def _join_axes(self) -> None:
        """Lets columns that are again in the same rows share one axis: their axes separate if a block ends within a
        row."""
        seen: dict[tuple[int, int], Axis] = {}
        for axis, keys in self.axes():
            other = seen.setdefault((axis.count, axis.last_row()), axis)
            if other is not axis and np.array_equal(other.rows[: other.count], axis.rows[: axis.count]):
                for key in keys:
                    self[key].move(other)

    def _axis_of(self, axis: Axis | None, keys: Collection[str]) -> Axis:
        """An axis that only these columns use. They share `axis` now; the result is a copy of it if other columns use
        it too."""
        if axis is None:
            new, none = Axis.empty(), np.empty(0, dtype=np.float64)
            for key in keys:
                self[key] = Column(new, none)
            return new
        if axis.members == len(keys):
            return axis
        new = axis.copy()
        for key in keys:
            self[key].move(new)
        return new

    # -- a row ---------------------------------------------------------------------------------------------------

    def fill(self, row: int, step: int, time: float, cells: Mapping[str, float]) -> Filled:
        """Sets cells of an existing row."""
        groups: dict[Axis | None, list[str]] = {}
        for key in cells:
            column = self.get(key)
            groups.setdefault(None if column is None else column.axis, []).append(key)
        added = revised = False
        for axis, keys in groups.items():
            place = 0 if axis is None else axis.place(row)
            if axis is not None and axis.holds(row, place):
                revised |= self._revise(place, cells, keys)
                continue
            added = True
            target = self._axis_of(axis, keys)
            count = target.count
            if place == count:
                target.append(row, step, time)
            else:
                target.insert(place, row, step, time)
            for key in keys:
                column = self[key]
                if place == count:
                    if count == len(column.values):
                        column.values = with_room(column.values, count, count + 1)
                else:
                    column.values = np.insert(column.values[:count], place, 0.0)
                value = cells[key]
                column.values[place] = value if isfinite(value) else _cell(column, value)
        return Filled(added, revised)

    def _revise(self, place: int, cells: Mapping[str, float], keys: Iterable[str]) -> bool:
        """Changes existing values in a copy, so that a view that was handed out before does not change."""
        changed = False
        for key in keys:
            column = self[key]
            value, old = _cell(column, cells[key]), float(column.values[place])
            if value != old and (value == value or old == old):
                column.values = column.values.copy()
                column.values[place] = value
                changed = True
        return changed

    def restamp(self, row: int, time: float) -> None:
        """Gives a row another time."""
        for axis, _ in self.axes():
            place = axis.place(row)
            if axis.holds(row, place):
                axis.times = axis.times.copy()
                axis.times[place] = time

    def shift(self, row: int) -> None:
        """Moves the rows from `row` on down by one, after a new row was put before them."""
        for axis, _ in self.axes():
            place = axis.place(row)
            if place < axis.count:
                axis.rows = axis.rows.copy()
                axis.rows[place:] += 1

    # -- all rows ------------------------------------------------------------------------------------------------

    def keep(self, n: int) -> None:
        """Forgets all rows from row `n` on."""
        for axis, keys in list(self.axes()):
            count = axis.place(n)
            if not count:
                for key in keys:
                    del self[key]
            elif count < axis.count:
                axis.cut(count)
                for key in keys:
                    self[key].values = self[key].values[:count].copy()

    def mark(self) -> Marked:
        """The state that `go_back` returns to. Nothing is copied, because existing values are never changed in
        place."""
        axes = {axis: (axis.rows, axis.steps, axis.times, axis.count) for axis, _ in self.axes()}
        return Marked(axes, {key: (one.axis, one.values, one.all_finite) for key, one in self.items()})

    def go_back(self, marked: Marked) -> None:
        """Restores the columns, in copies, so that views that were handed out do not change."""
        self.clear()
        axes = {
            axis: Axis(rows[:n].copy(), steps[:n].copy(), times[:n].copy())
            for axis, (rows, steps, times, n) in marked.axes.items()
        }
        for key, (axis, values, all_finite) in marked.columns.items():
            self[key] = Column(axes[axis], values[: axes[axis].count].copy(), all_finite)

    def rename(self, name: Callable[[str], str], steps: Ints, times: Floats) -> None:
        """Renames columns; if two meet, the cells of the later one win."""
        columns = list(self.items())
        self.clear()
        for key, column in columns:
            new = name(key)
            held = self.get(new)
            if held is None:
                self[new] = column
                continue
            rows = np.union1d(held.axis.rows[: held.axis.count], column.axis.rows[: column.axis.count])
            values = np.empty(len(rows), dtype=np.float64)
            for one in (held, column):
                values[rows.searchsorted(one.axis.rows[: one.axis.count])] = one.values[: one.axis.count]
                one.axis.members -= 1
            axis = Axis(rows, steps[rows], times[rows])
            self[new] = Column(axis, values, held.all_finite and column.all_finite)


def _cell(column: Column, value: float) -> float:
    if isfinite(value):
        return value
    column.all_finite = False
    return nan
