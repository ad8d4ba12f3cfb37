"""The history of one run from all its sources. For each cell the best source counts; the others fill gaps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from rltui.readers.base import NO_STEP, Rows
from rltui.run.align import Spacing, aligned, begun, spaced, spacing
from rltui.run.clocks import behind, tells
from rltui.run.columns import Axis
from rltui.run.contradictions import Contradiction, between, distance, in_order, moved
from rltui.run.part import LOOKED_AT, Part, add_printed, attempts
from rltui.run.table import Floats, Ints, Series, Table

__all__ = ["History", "Part", "Series", "Table"]

FEW_ROWS = 16
"""Up to this many new rows, or an eighth of all rows, are merged one by one. If there are more, the table and the
diagnosis are built again (a writer that flushes every two minutes brings many rows at once)."""


class History:
    """The merged rows of several parts. If only one part holds rows, the merged table is that part's own table."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._merged: Table | None = None
        self._ends: dict[str, int] = {}
        self._placed: dict[str, Part] = {}  # parts that state no steps, with the steps of another part
        self.unplaced: dict[str, int] = {}  # part -> number of rows left out because their step is unknown
        self.ahead: dict[str, int] = {}  # part -> how many steps higher it numbers the same rows than a better part
        self.behind: dict[str, float] = {}  # part -> seconds by which its clock is behind that of a better part
        self.contradictions: tuple[Contradiction, ...] = ()
        self.meaning: Callable[[str], str] = str  # key -> meaning: keys with one meaning are one metric
        self._bar: int | None = None
        self._every: int | None = None
        self._since = 0  # rows merged since the sources were last compared

    @property
    def counted(self) -> bool:
        """Whether the log states no steps, so that rows are counted instead."""
        filled = [part for part in self.parts if part.table.n]
        return bool(filled) and all(part.counted for part in filled) and self._spacing() is None

    @property
    def counts(self) -> dict[str, int]:
        """Part -> its last count, for each part whose rows were counted."""
        if self._spacing() is not None:
            return {}
        return {part.name: int(part.table.steps[-1]) for part in self.parts if part.table.n and part.counted}

    def reach(self, bar: int | None, every: int | None = None) -> None:
        """Takes the newest step of a progress bar in a log without rows: a job may write its two streams to two files.
        `every`: the steps from row to row in the config."""
        before, self._bar, self._every = self._spacing(), bar, every
        if self._spacing() != before:
            self.rebuild()

    def _spacing(self) -> Spacing | None:
        """How many steps apart the rows are, if only one part has rows and a bar in another log, or the config, shows
        it."""
        filled = [part for part in self.parts if part.table.n]
        if len(filled) != 1 or not filled[0].counted:
            return None
        rows = filled[0].table
        told = None if self._bar is None else spacing(int(rows.steps[-1]), self._bar, begun(rows))
        return Spacing(self._every, False) if told is None and self._bar is None and self._every else told

    @property
    def table(self) -> Table:
        """The rows of the run, one a training step, in step order."""
        if self._merged is None:
            if len(self.parts) == 1 and self.parts[0].table.n and (self._every is None or self._spacing() is None):
                return self.parts[0].table
            filled = sorted((p for p in self.parts if p.table.n), key=lambda p: p.rank)
            self._placed, self.unplaced, self.behind = {}, {}, {}
            apart = self._spacing()
            if apart is not None:
                self._merged = spaced(filled[0].table, apart)
                return self._merged
            if any(p.counted for p in filled) and not self.counted:
                filled = self._place([p for p in filled if not p.counted], [p for p in filled if p.counted])
            if len(filled) == 1:
                return filled[0].table
            self._ends = attempts(filled)
            filled = self._agreeing(filled)
            self.behind = behind(filled)
            self._merged = _merge(filled, self._ends, self.contradictions, self.behind)
        return self._merged

    @property
    def keys(self) -> Collection[str]:
        """The keys of all parts. Unlike `table`, it merges nothing, because parts may have to be renamed first."""
        tables = [part.table.columns for part in self.parts if part.table.n]
        return tables[0] if len(tables) == 1 else dict.fromkeys(key for columns in tables for key in columns)

    def _agreeing(self, filled: list[Part]) -> list[Part]:
        """The parts, each renumbered to the steps of the better ones. It also fills `ahead` and `contradictions`."""
        self.ahead, self._since = {}, 0
        left_before = frozenset(one.left for one in self.contradictions)
        kept: list[Part] = []
        found: list[Contradiction] = []
        out = []
        for part in in_order(filled, left_before):
            others = [other for other in kept if other.rank[0] != part.rank[0]]
            apart = next((n for other in others if (n := distance(other.table, part.table, self.meaning))), 0)
            if apart:
                self.ahead[part.name] = apart
                part = part.at_steps(moved(part.table, apart))
            against = [one for other in others if (one := self._between(other, part)) is not None]
            whole = min((one for one in against if one.whole), key=lambda one: one.since, default=None)
            found += against if whole is None else [whole]
            if whole is None:
                kept.append(part)
            out.append(part)
        self.contradictions = tuple(found)
        return sorted(out, key=lambda p: p.rank)

    def _between(self, kept: Part, left: Part) -> Contradiction | None:
        ends = [self._ends[part.name] for part in (kept, left) if part.name in self._ends]
        return between(kept, left, self.meaning, min(ends, default=None))

    def _place(self, stated: list[Part], counted: list[Part]) -> list[Part]:
        """Gives counted parts the steps of the stated rows that hold the same values. Other counted rows are left
        out."""
        by = stated[0].table if len(stated) == 1 else _merge(stated, attempts(stated))
        for part in counted:
            table = aligned(part.table, by)
            self.unplaced[part.name] = part.table.n - (table.n if table is not None else 0)
            if table is not None:
                self._placed[part.name] = part.at_steps(table)
        return sorted([*stated, *self._placed.values()], key=lambda p: p.rank)

    @property
    def abandoned(self) -> list[tuple[int, int, int]]:
        """The first step, last step and number of rows of each attempt that a later one replaced. It takes the file
        that saw the most attempts, and adds those that ended where a later file took over."""
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

    @property
    def others(self) -> set[tuple[int, int, int]]:
        """Those of `abandoned` that belonged to another training, earlier in the same file."""
        return {one for part in self.parts for one in part.table.others}

    def add_part(self, part: Part) -> None:
        self.parts.append(part)
        self.rebuild()

    def remove_part(self, part: Part) -> None:
        self.parts.remove(part)
        self.rebuild()

    def add(self, part: Part, rows: Rows) -> None:
        """Adds rows to a part and merges them into the table: row by row if they are few, else the table is built
        again."""
        merged, table = self._merged, part.table
        before, left = table.n, (len(table.restarts), len(table.abandoned))
        if rows.printed:
            add_printed(part, rows)
        else:
            table.add(rows)
            part.one_by_one = True
        if merged is None:
            return
        if self._spacing() is not None or rows.printed:
            self.rebuild()
            return
        self._since += len(rows)
        in_doubt = any(part.name in (one.kept, one.left) for one in self.contradictions)
        if self.unplaced or part.name in self.ahead or in_doubt or self._since > max(FEW_ROWS, merged.n // 8):
            self.rebuild()
            return
        few = len(rows) <= max(FEW_ROWS, merged.n // 8)
        anew = (len(table.restarts), len(table.abandoned)) != left
        if not few or before < LOOKED_AT or anew or part.name in self._ends:
            self.rebuild()
            return
        others = [p for p in self.parts if p is not part and p.table.n]
        better = [p for p in others if p.rank > part.rank]
        for step in {s for s in rows.steps if s != NO_STEP} | set(table.steps[before:].tolist()):
            row = table.row_at(step)
            if row is None:
                continue
            if tells(part, step, others, self.behind):
                self.rebuild()
                return
            cells, time = table.cells(row), float(table.times[row]) + self.behind.get(part.name, 0.0)
            for other in better:
                at = other.table.row_at(step)
                if at is not None:
                    held, stated = other.table.cells(at), float(other.table.times[at])
                    cells = {k: v for k, v in cells.items() if k not in held}
                    time = stated + self.behind.get(other.name, 0.0) if stated == stated else time
            merged.put(step, time, cells, fold=True)

    def cut(self, step: int) -> None:
        """Forgets all rows after this step. Counted rows keep the steps that the whole run gives them, as with fewer
        rows to compare they would get other steps."""
        whole, alone = self.table, self._spacing() is not None
        for part in self.parts:
            if part.name in self._placed or (alone and part.table.n):
                part.table, part.counts = whole if alone else self._placed[part.name].table, False
            part.table.keep(int(part.table.steps.searchsorted(step + self.ahead.get(part.name, 0), "right")))
        self.rebuild()

    def rebuild(self) -> None:
        """Makes the next use build the merged table again, after a part was replaced, renamed or filled in bulk."""
        self._merged = None


def _merge(
    ordered: list[Part],
    ends: Mapping[str, int],
    contradictions: Sequence[Contradiction] = (),
    behind: Mapping[str, float] = MappingProxyType({}),
) -> Table:
    """All parts in one table. `ordered`: by rising rank. `ends`: see `attempts`. `behind`: see `clocks`. Rows and
    values that a better source contradicts are left out. A column that only one part holds is shared with it, not
    copied."""
    out = Table()
    if not ordered:
        return out
    lost = {one.left: one.since for one in contradictions if one.whole}
    cut = {(one.left, key): one.since for one in contradictions if not one.whole for key in one.keys}
    until = {**ends, **{name: min(step, ends.get(name, step)) for name, step in lost.items()}}
    live = {p.name: int(p.table.steps.searchsorted(until[p.name])) if p.name in until else p.table.n for p in ordered}
    steps: Ints = np.unique(np.concatenate([p.table.steps[: live[p.name]] for p in ordered]))
    times: Floats = np.full(len(steps), np.nan)
    for part in ordered:
        stated = part.table.times[: live[part.name]] + behind.get(part.name, 0.0)
        known = ~np.isnan(stated)
        times[steps.searchsorted(part.table.steps[: live[part.name]])[known]] = stated[known]
    merged: dict[str, tuple[Ints, Floats]] = {}  # key -> rows, values
    joined: dict[tuple[int, int], tuple[Ints, Ints, Ints]] = {}  # two sets of rows and their union, by their identity
    for part in reversed(ordered):
        for axis, keys in part.table.axes():
            count = axis.place(live[part.name])
            if not count:
                continue
            every: Ints = steps.searchsorted(axis.steps[:count])
            for key in keys:
                rows = every
                if (part.name, key) in cut:
                    rows = every[: int(axis.steps[:count].searchsorted(cut[part.name, key]))]
                    if not len(rows):
                        continue
                values = part.table.columns[key].values[: len(rows)]
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
    heads = [h for p in ordered if p.name not in until and (h := p.table.head_step) is not None]
    out.set_head(max(heads, default=int(steps[-1])))
    return out


def _overlaid(rows: Ints, under: tuple[Ints, Floats], over: tuple[Ints, Floats]) -> Floats:
    values: Floats = np.empty(len(rows), dtype=np.float64)
    for at, cells in (under, over):
        values[rows.searchsorted(at)] = cells
    return values
