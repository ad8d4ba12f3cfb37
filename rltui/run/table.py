"""Rows of one source as columns: one row a training step. Missing cells differ from logged NaN (see `columns`).

A restart goes back to a known step. It writes other values, in a whole row or in the rows that follow, or the same
values at later times. A late revision (a cell of an old step updated, a validation written after later steps) goes back
with only part of a row, and the next row continues where the run was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from itertools import pairwise
from math import nan

import numpy as np
from msgspec import Struct

from rltui.readers.base import FIRST_STEP, NO_STEP, Rows
from rltui.run.column_set import ColumnSet, Marked, cells_of
from rltui.run.columns import Axis, Column, Floats, Ints, Series, with_room

__all__ = ["Column", "Floats", "Ints", "Series", "Table"]

OTHER_SHARE = 0.5
"""A row is a new result for its step if at least this share of the cells that it repeats has other values. A resumed
run changes all cells, a repeated row none, a revision one or two."""

WHOLE_SHARE = 0.5
"""A record with at least this share of the row's cells is a whole row."""

ALIKE_SHARE = 0.5
"""Rows of one training share at least this part of the names in both: of 20 names, SFT logs six that GRPO logs."""

ABANDONED_ROWS = 2
"""Rows count as abandoned if a restart goes back by at least this many: two processes that write one log differ by one
row."""

SURE_ROWS = 3
"""After this many rows that came again unchanged, the trainer repeats itself exactly. A single row with other values is
then not yet a restart: its first line may have been torn."""


LATER_ROWS = 2
"""This many repeated rows, each written later than all before it, belong to a resumed run that repeats itself exactly:
copies would keep their times."""


TIMED_ROWS = 8
"""This many successive whole rows with one or two other cells come from a resumed run that repeats itself otherwise: a
step never takes exactly as long twice. Copies are equal, and a revision changes few rows."""


class GoneBack(Struct):
    """Records went back to row `row`. `anew`: since then, a record had other values than the known row. `again`: how
    many records came since then. `timed`: how many successive whole rows had other values in some cells. `odd`: the
    newest record (step, time, cells), if it has other values and the `SURE_ROWS` before it did not; the next record
    shows whether the run differs from there on or only in that row. `time`: the newest time stated so far. `later`: how
    many successive whole rows were written after it, each later than the one before. `part`: `odd` only adds to the
    record before it and is not a row of its own."""

    row: int
    anew: bool
    again: int = 0
    time: float = nan
    later: int = 0
    timed: int = 0
    odd: tuple[int, float, Mapping[str, float]] | None = None
    part: bool = False


def whole(old: Mapping[str, float], new: Mapping[str, float]) -> bool:
    """Whether a row holds most of the cells of another."""
    return sum(key in new for key in old) >= WHOLE_SHARE * len(old)


def alike(old: Mapping[str, float], new: Mapping[str, float]) -> bool:
    """Whether two rows may belong to the same training: the new one has no new name, or both share at least
    `ALIKE_SHARE` of their names."""
    both = len(old.keys() & new.keys())
    return both == len(new) or both >= ALIKE_SHARE * len(old.keys() | new.keys())


def done_anew(old: Mapping[str, float], new: Mapping[str, float]) -> bool:
    """Whether a row repeats another with other values in at least `OTHER_SHARE` of the cells that both hold."""
    both, other = _shared(old, new)
    return other > 0 and other >= OTHER_SHARE * both


def _shared(old: Mapping[str, float], new: Mapping[str, float]) -> tuple[int, int]:
    """How many cells both hold, and how many of these differ."""
    both = [(old[key], value) for key, value in new.items() if key in old]
    return len(both), sum(1 for a, b in both if a == a and b == b and abs(a - b) > 1e-12 + 1e-6 * abs(a))


def _copied(x: object) -> object:
    return copy(x) if isinstance(x, list | GoneBack) else x


class Table:
    """Rows in rising order of steps. A second row of the same step is merged into the first, cell by cell."""

    def __init__(self) -> None:
        self.n = 0
        self.restarts: list[int] = []
        self.counted = 0  # rows that state no step
        self.overwritten = 0  # rows that stated other values for the step of the record before them
        self.repeated = 0  # rows that repeated known rows
        self.zoned = False  # the newest times state their zone
        self.abandoned: list[tuple[int, int, int]] = []  # first step, last step and number of rows that a restart left
        self.others: list[tuple[int, int, int]] = []  # those of `abandoned` from another training
        self.columns = ColumnSet()
        self._changed_from: int | None = None
        self._steps: Ints = np.empty(0, dtype=np.int64)
        self._times: Floats = np.empty(0, dtype=np.float64)
        self._newest_time: float | None = nan  # NaN: no row states a time; None: not computed
        self._head = -1  # row of the newest record: after a restart it is before the end
        self._back: GoneBack | None = None  # records went back: not yet known if it is a restart or a late revision
        self._marked: tuple[dict[str, object], Marked] | None = None  # the state that `go_back` restores
        self._revised_from = 0  # the first row that was revised since `_marked`

    # -- reading -------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> Ints:
        return self._steps[: self.n]

    @property
    def times(self) -> Floats:
        return self._times[: self.n]

    @property
    def head_step(self) -> int | None:
        """The current step of the run: that of the newest record. After a restart it is below the largest step seen."""
        if self._head < 0:
            return None
        return int(self._steps[self._head if self._back is None else self.n - 1])

    @property
    def head_time(self) -> float | None:
        """Time of the newest record; None if it states none."""
        time = float(self._times[self._head]) if self._head >= 0 else nan
        return time if time == time else None

    @property
    def newest_time(self) -> float | None:
        """The newest time that any row states; None if none does."""
        if self._newest_time is None:
            self._newest_time = float(np.fmax.reduce(self.times, initial=nan))
        return self._newest_time if self._newest_time == self._newest_time else None

    def timed(self, most: int) -> Ints:
        """The numbers of the newest rows that state a time, at most `most`."""
        reach = most if self.newest_time is not None else 0
        while True:
            start = max(0, self.n - reach)
            found: Ints = start + np.flatnonzero(self.times[start:] == self.times[start:])
            if len(found) >= most or not reach or not start:
                return found[-most:]
            reach *= 8

    def series(self, key: str) -> Series | None:
        """The points of a column; None for a key never seen."""
        column = self.columns.get(key)
        return None if column is None else column.series(key)

    def row_at(self, step: int) -> int | None:
        """Row number of a step; None if the step has no row."""
        i = int(self.steps.searchsorted(step))
        return i if i < self.n and self._steps[i] == step else None

    def cells(self, row: int) -> dict[str, float]:
        """The logged cells of a row; a cell is NaN if NaN or an infinity was logged."""
        return self.columns.cells(row)

    def axes(self) -> Iterator[tuple[Axis, list[str]]]:
        """Each axis with the keys of its columns."""
        return self.columns.axes()

    def take_changed(self) -> int | None:
        """The first row that was revised since the last call; None if there is none. The call resets it."""
        changed, self._changed_from = self._changed_from, None
        return changed

    def read_otherwise(self) -> None:
        """Records that columns now have another meaning or unit: nothing that was derived from them holds."""
        self._mark(0)

    # -- writing -------------------------------------------------------------------------------------------------

    def add(self, rows: Rows) -> None:
        """Adds a block in file order. Rows with `NO_STEP` get the step after the newest record's."""
        if not len(rows):
            return
        self.zoned = rows.zoned
        steps: Ints = np.frombuffer(rows.steps, dtype=np.int64)
        if (steps == NO_STEP).any():
            self.counted += int((steps == NO_STEP).sum())
            steps = self._numbered(steps)
        behind, others = set(rows.behind), set(rows.anew)
        borders = [0, *(np.flatnonzero(steps[1:] <= steps[:-1]) + 1).tolist(), len(steps)]
        for start, stop in pairwise(borders):  # rising steps within each
            while start < stop:
                if start in others and self.n:
                    self._leave_all(0, 0)
                last = int(self._steps[self.n - 1]) if self.n else None
                if stop - start > 1 and (last is None or int(steps[start]) > last):
                    self._settle()
                    self._extend(steps[start:stop], rows, start)
                    break
                self.put(int(steps[start]), rows.times[start], cells_of(rows, start), behind=start in behind)
                start += 1

    def _numbered(self, steps: Ints) -> Ints:
        step = int(self._steps[self._head]) if self._head >= 0 else 0
        out = steps.copy()
        for i, stated in enumerate(steps.tolist()):
            step = step + 1 if stated == NO_STEP else stated
            out[i] = step
        return out

    def _extend(self, steps: Ints, rows: Rows, first: int) -> None:
        """Appends the rows of a block from `first` on, with these steps, which are after the last one."""
        start, end = self.n, self.n + len(steps)
        times: Floats = np.frombuffer(rows.times, dtype=np.float64)[first : first + len(steps)]
        self._steps, self._times = with_room(self._steps, start, end), with_room(self._times, start, end)
        self._steps[start:end], self._times[start:end] = steps, times
        self.n = end
        self._stamped(float(np.fmax.reduce(times, initial=nan)))
        self._head = end - 1
        self._back = None
        self.columns.extend(start, steps, times, rows, first)

    def put(
        self, step: int, time: float, cells: Mapping[str, float], *, fold: bool = False, behind: bool = False
    ) -> None:
        """Adds one row. NaN or an infinity in `cells` means that it was logged; absent keys are missing.

        Rows that go back to earlier steps with other values begin another attempt (see `restarts`), and the known rows
        after them are abandoned. That does not happen with `fold` (rows from another source) or `behind` (the row was
        written before the newest record). In any case the later value wins and the keys of both are kept.
        """
        behind = behind and self.n > 0 and step <= self._steps[self.n - 1]
        if not (fold or behind):
            self._follow(step, time, cells)
        last = int(self._steps[self.n - 1]) if self.n else None
        if last is None or step > last:
            row = self.n
            self._steps, self._times = with_room(self._steps, row, row + 1), with_room(self._times, row, row + 1)
            self._steps[row], self._times[row] = step, time
            self.n += 1
            self._stamped(time)
            self.columns.fill(row, step, time, cells)
        else:
            row = int(self.steps.searchsorted(step))
            if self._steps[row] != step:
                self._insert(row, step, time)
            news = self.columns.fill(row, step, float(self._times[row]), cells)
            if news.added or news.revised:
                self._mark(row)
            self.overwritten += news.revised and row == self._head and not (fold or behind)
            if time == time and self._times[row] != time:
                self._restamp(row, time)
        self._head = self._head if behind else row

    def _follow(self, step: int, time: float, cells: Mapping[str, float]) -> None:
        """Decides whether this row, with those before it, shows that the run was restarted."""
        if self._back is not None and self._back.odd is not None:
            row = self.row_at(step)
            if row is not None and step > self._back.odd[0] and not done_anew(self.cells(row), cells):
                self._back.odd = None
            else:
                self._settle()
        last = int(self._steps[self.n - 1]) if self.n else step - 1
        if step > last:
            self._back = None
            return
        row, newest = int(self.steps.searchsorted(step)), int(self._steps[self._head])
        if step < newest:
            self._back = GoneBack(row, False, time=nan if self.newest_time is None else self.newest_time)
        if self._back is None:
            return
        old = self.cells(row) if self._steps[row] == step else {}
        anew = done_anew(old, cells)
        part = step <= newest and not whole(old, cells)
        self._back.again += 1
        if anew and not self._back.anew and self._back.again > SURE_ROWS and step < last:
            self._back.odd, self._back.part = (step, time, cells), part
            return
        written = bool(old) and time > self._back.time and whole(old, cells)
        differs = bool(old) and whole(old, cells) and _shared(old, cells)[1] > 0
        self._back.timed = self._back.timed + 1 if differs else 0
        self._back.later = self._back.later + 1 if written else 0
        self._back.time = float(np.fmax(self._back.time, time))
        self._back.anew |= anew or self._back.later >= LATER_ROWS or self._back.timed >= TIMED_ROWS
        if not self._back.anew or part:
            if step == last:  # everything was repeated unchanged
                self.repeated += self._back.again
                self._back = None
            return
        self._restart(self._back.row, row, cells)

    def _settle(self) -> None:
        """Takes the odd row as the first one of a restarted run with other values. If it is only part of a row, it only
        shows that values differ."""
        if self._back is None or self._back.odd is None:
            return
        step, time, cells = self._back.odd
        if self._back.part:
            self._back.odd, self._back.anew = None, True
            return
        self._restart(self._back.row, int(self.steps.searchsorted(step)), cells)
        self.put(step, time, cells)

    def _restart(self, begin: int, anew: int, cells: Mapping[str, float]) -> None:
        """Makes the run continue from row `begin`; its row `anew` has these cells. If it starts from scratch and its
        rows have other names, the known rows belong to another training: SFT before RL, or a reward model before its
        policy."""
        self._back = None
        leaves = self.n - 1 - begin >= ABANDONED_ROWS
        newest = (self.n - 2, self.n - 1)
        if leaves and self._steps[begin] <= FIRST_STEP and not any(alike(self.cells(row), cells) for row in newest):
            self._leave_all(begin, anew)
            return
        self._mark(begin)  # what was derived from later rows did not know of the restart
        self.restarts.append(int(self._steps[begin]))
        if leaves:
            self._leave(begin, anew)

    def _leave_all(self, begin: int, anew: int) -> None:
        """Abandons the rows of another training: all but those from row `begin` to `anew`."""
        rows = [(int(self._steps[row]), float(self._times[row]), self.cells(row)) for row in range(begin, anew)]
        first = int(self._steps[0 if begin else min(anew, self.n - 1)])
        self.abandoned.append((first, int(self._steps[self.n - 1]), self.n - len(rows)))
        self.others.append(self.abandoned[-1])
        self.keep(0)
        for step, time, cells in rows:
            self.put(step, time, cells)

    def _stamped(self, time: float) -> None:
        """Takes the time of a new row; NaN if it states none."""
        if self._newest_time is not None and not (time != time or self._newest_time >= time):
            self._newest_time = time

    def _restamp(self, row: int, time: float) -> None:
        self._times = self._times.copy()
        self._times[row] = time
        self._newest_time = None
        self.columns.restamp(row, time)

    def _insert(self, row: int, step: int, time: float) -> None:
        """Makes a new row before `row`."""
        self._steps, self._times = np.insert(self.steps, row, step), np.insert(self.times, row, time)
        self._stamped(time)
        self.columns.shift(row)
        self.n += 1
        self._head += self._head >= row
        self._mark(row)

    def load(self, steps: Ints, times: Floats, groups: Iterable[tuple[Axis, Mapping[str, Floats]]]) -> None:
        """Fills an empty table with rising steps and whole columns by axis; each axis must have the same steps and
        times. The arrays stay the caller's: they are copied before the first change."""
        self.n = len(steps)
        self._head = self.n - 1
        self._steps, self._times = steps, times
        self._newest_time = None
        for axis, columns in groups:
            for key, values in columns.items():
                self.columns[key] = Column(axis, values, bool(np.isfinite(values).all()))

    def place(self, steps: Mapping[int, int]) -> None:
        """Gives counted rows their steps (count -> step). They must be the newest rows."""
        first = int(self.steps.searchsorted(min(steps))) if steps else self.n
        rows = [(int(self._steps[i]), float(self._times[i]), self.cells(i)) for i in range(first, self.n)]
        self.keep(first)
        for step, time, cells in rows:
            self.put(steps.get(step, step), time, cells)

    def set_head(self, step: int) -> None:
        """Sets the step of the newest record."""
        self._head = min(int(self.steps.searchsorted(step)), self.n - 1)

    def restart_at(self, step: int) -> None:
        """Begins a new attempt at `step` (the file was truncated, or a new file began): rows from there on are
        abandoned."""
        row = int(self.steps.searchsorted(step))
        if row < self.n:
            if row:
                self.restarts.append(step)
            self._leave(row, row)

    def _leave(self, begin: int, anew: int) -> None:
        """Abandons the rows from row `begin` on, because their attempt is over. Those before row `anew` stay: the next
        attempt repeated them unchanged."""
        self.abandoned.append((int(self._steps[begin]), int(self._steps[self.n - 1]), self.n - begin))
        self.keep(anew)

    def keep(self, n: int) -> None:
        """Forgets all rows from row `n` on."""
        if n >= self.n:
            return
        self.n = n
        self._steps, self._times = self._steps[:n].copy(), self._times[:n].copy()
        self._newest_time = None
        self.columns.keep(n)
        self._head = n - 1
        self._back = None
        self._mark(n)

    def rename(self, name: Callable[[str], str]) -> None:
        """Renames columns; if two meet, the cells of the later one win."""
        self.columns.rename(name, self.steps, self.times)

    def mark(self) -> None:
        """Remembers the table as it is now, for `go_back`."""
        held = {name: _copied(x) for name, x in vars(self).items() if name not in ("columns", "_marked")}
        self._marked, self._revised_from = (held, self.columns.mark()), self.n

    def go_back(self) -> None:
        """Restores the table as it was when `mark` was called. It works only once for each mark."""
        if self._marked is None:
            return
        (held, columns), self._marked = self._marked, None
        changed, revised = self._changed_from, self._revised_from
        vars(self).update(held)
        self._steps, self._times = self.steps.copy(), self.times.copy()
        self.columns.go_back(columns)
        self._changed_from = changed
        self._mark(min(self.n, revised))

    def _mark(self, row: int) -> None:
        self._revised_from = min(self._revised_from, row)
        self._changed_from = row if self._changed_from is None else min(self._changed_from, row)
