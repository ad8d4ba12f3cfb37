"""The history of one run from all its sources: the best source gives a cell its value, the rest fill gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rltui.readers.base import NO_STEP, Rows
from rltui.run.align import SAME, aligned
from rltui.run.columns import Axis
from rltui.run.table import Floats, Ints, Series, Table

__all__ = ["History", "Part", "Series", "Table"]

FEW_ROWS = 16
"""Up to so many new rows, or an eighth of all, are folded into the merged table one by one; more, and it is built anew
(and diagnosed anew: a writer that flushes every two minutes brings many rows at once)."""

LOOKED_AT = 8
"""First rows of a file by which it is told whether it is a later attempt."""


@dataclass(slots=True)
class Part:
    """The table of one source within a run. The higher `rank` wins a cell; among equals the later start wins.

    `rank` is (class of the container, start in seconds since the epoch). Parts of one class are attempts at the run,
    one after the other, where they hold the same keys with other values. `counts`: its reader counted rows.
    """

    name: str
    rank: tuple[int, float]
    table: Table = field(default_factory=Table)
    counts: bool = False

    @property
    def counted(self) -> bool:
        """Whether its steps are not known: most of its rows were counted."""
        return self.counts or 2 * self.table.counted > self.table.n


class History:
    """The merged rows of several parts. With one part that holds rows, the merged table is that part's own."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._merged: Table | None = None
        self._ends: dict[str, int] = {}
        self._placed: dict[str, Part] = {}  # parts that state no steps, at those of another part
        self.unplaced: dict[str, int] = {}  # part -> rows left out: nothing tells which step they are of

    @property
    def counted(self) -> bool:
        """Whether the steps of the run are not known: its rows are counted."""
        filled = [part for part in self.parts if part.table.n]
        return bool(filled) and all(part.counted for part in filled)

    @property
    def counts(self) -> dict[str, int]:
        """Of the parts whose rows were counted: the last count."""
        return {part.name: int(part.table.steps[-1]) for part in self.parts if part.table.n and part.counted}

    @property
    def table(self) -> Table:
        """The rows of the run, one a training step, in step order."""
        if self._merged is None:
            if len(self.parts) == 1 and self.parts[0].table.n:
                return self.parts[0].table
            filled = sorted((p for p in self.parts if p.table.n), key=lambda p: p.rank)
            self._placed, self.unplaced = {}, {}
            if any(p.counted for p in filled) and not self.counted:
                filled = self._place([p for p in filled if not p.counted], [p for p in filled if p.counted])
            if len(filled) == 1:
                return filled[0].table
            self._ends = attempts(filled)
            self._merged = _merge(filled, self._ends)
        return self._merged

    def _place(self, stated: list[Part], counted: list[Part]) -> list[Part]:
        """Parts whose rows were counted never mix with those that state their steps, but by the same values."""
        by = stated[0].table if len(stated) == 1 else _merge(stated, attempts(stated))
        for part in counted:
            table = aligned(part.table, by)
            self.unplaced[part.name] = part.table.n - (table.n if table is not None else 0)
            if table is not None:
                self._placed[part.name] = Part(part.name, part.rank, table)
        return sorted([*stated, *self._placed.values()], key=lambda p: p.rank)

    @property
    def abandoned(self) -> list[tuple[int, int, int]]:
        """First and last step, and number, of the rows of each attempt that a later one took the place of: as the file
        tells that saw most of them, and where a later file took over."""
        found: list[tuple[int, int, int]] = max((p.table.abandoned for p in self.parts), key=len, default=[])
        if not self.table.n:
            return found
        by_first = {first: at for at, (first, _, _) in enumerate(found)}
        found = found.copy()
        for part in self.parts:
            if part.name not in self._ends:
                continue
            steps = part.table.steps[part.table.steps.searchsorted(self._ends[part.name]) :]
            if not len(steps):
                continue
            left, at = (int(steps[0]), int(steps[-1]), len(steps)), by_first.get(int(steps[0]))
            if at is None:
                by_first[left[0]] = len(found)
                found.append(left)
            elif left[2] > found[at][2]:  # the same attempt, in a file that saw more of it
                found[at] = left
        return found

    def add_part(self, part: Part) -> None:
        self.parts.append(part)
        self.rebuild()

    def remove_part(self, part: Part) -> None:
        self.parts.remove(part)
        self.rebuild()

    def add(self, part: Part, rows: Rows) -> None:
        """Adds rows to a part and folds them into the merged table: row by row when few, else it is built anew."""
        merged, table = self._merged, part.table
        before, restarts = table.n, len(table.restarts)
        table.add(rows)
        if merged is None:
            return
        if self.unplaced:
            self.rebuild()
            return
        few = len(rows) <= max(FEW_ROWS, merged.n // 8)
        if not few or before < LOOKED_AT or len(table.restarts) > restarts or part.name in self._ends:
            self.rebuild()
            return
        better = [p.table for p in self.parts if p is not part and p.rank > part.rank and p.table.n]
        for step in {s for s in rows.steps if s != NO_STEP} | set(table.steps[before:].tolist()):
            row = table.row_at(step)
            if row is None:
                continue
            cells, time = table.cells(row), float(table.times[row])
            for other in better:
                at = other.row_at(step)
                if at is not None:
                    held = other.cells(at)
                    cells = {k: v for k, v in cells.items() if k not in held}
                    time = float(other.times[at]) if other.times[at] == other.times[at] else time
            merged.put(step, time, cells, fold=True)

    def rebuild(self) -> None:
        """The merged table is built anew at its next use (a part was replaced, renamed or filled in bulk)."""
        self._merged = None


def attempts(ordered: list[Part]) -> dict[str, int]:
    """Part -> the step from which a later attempt at the run took over: parts of one class that hold the same keys,
    where the later one begins within the earlier or right behind it and does not just repeat it."""
    ends: dict[str, int] = {}
    for i, earlier in enumerate(ordered):
        for later in ordered[i + 1 :]:
            if later.rank[0] == earlier.rank[0] and _takes_over(earlier, later):
                first = int(later.table.steps[0])
                ends[earlier.name] = min(ends.get(earlier.name, first), first)
    return ends


def _takes_over(earlier: Part, later: Part) -> bool:
    a, b = earlier.table, later.table
    shared = [key for key in b.columns if key in a.columns]
    if not later.rank[1] > earlier.rank[1] or 2 * len(shared) < min(len(a.columns), len(b.columns)):
        return False
    first, last = int(b.steps[0]), int(a.steps[-1])
    if first > last + 1:
        return False
    repeated = [row for row in (a.row_at(step) for step in b.steps[:LOOKED_AT].tolist()) if row is not None]
    if not repeated:
        return True
    for row in repeated:
        at = b.row_at(int(a.steps[row]))
        old, new = a.cells(row), b.cells(at if at is not None else 0)
        if any(k in old and abs(old[k] - v) > SAME * max(abs(old[k]), abs(v)) for k, v in new.items()):
            return True
    return False


def _merge(ordered: list[Part], ends: Mapping[str, int]) -> Table:
    """All parts in one table; `ordered` by rising rank. `ends`: see `attempts`. Columns that one part holds alone are
    shared with it, not copied."""
    out = Table()
    if not ordered:
        return out
    live = {p.name: int(p.table.steps.searchsorted(ends[p.name])) if p.name in ends else p.table.n for p in ordered}
    steps: Ints = np.unique(np.concatenate([p.table.steps[: live[p.name]] for p in ordered]))
    times: Floats = np.full(len(steps), np.nan)
    for part in ordered:
        stated = part.table.times[: live[part.name]]
        known = ~np.isnan(stated)
        times[steps.searchsorted(part.table.steps[: live[part.name]])[known]] = stated[known]
    merged: dict[str, tuple[Ints, Floats]] = {}  # key -> rows, values
    joined: dict[tuple[int, int], tuple[Ints, Ints, Ints]] = {}  # two sets of rows, and both; by their identity
    for part in reversed(ordered):
        for axis, keys in part.table.axes():
            count = axis.place(live[part.name])
            if not count:
                continue
            rows: Ints = steps.searchsorted(axis.steps[:count])
            for key in keys:
                values = part.table.columns[key].values[:count]
                held = merged.get(key)
                if held is None:
                    merged[key] = rows, values
                    continue
                pair = (id(held[0]), id(rows))
                if pair not in joined:
                    both = np.union1d(held[0], rows)
                    joined[pair] = held[0], rows, held[0] if len(both) == len(held[0]) else both
                both = joined[pair][2]
                if both is not held[0]:
                    merged[key] = both, _overlaid(both, (rows, values), held)
    groups: dict[int, tuple[Axis, dict[str, Floats]]] = {}
    for key, (rows, values) in merged.items():
        if id(rows) not in groups:
            groups[id(rows)] = (Axis(rows, steps[rows], times[rows]), {})
        groups[id(rows)][1][key] = values
    out.load(steps, times, groups.values())
    restarts = {step for part in ordered for step in part.table.restarts} | set(ends.values())
    out.restarts = sorted(step for step in restarts if step > int(steps[0]))
    heads = [h for p in ordered if p.name not in ends and (h := p.table.head_step) is not None]
    out.set_head(max(heads))
    return out


def _overlaid(rows: Ints, under: tuple[Ints, Floats], over: tuple[Ints, Floats]) -> Floats:
    values: Floats = np.empty(len(rows), dtype=np.float64)
    for at, cells in (under, over):
        values[rows.searchsorted(at)] = cells
    return values
