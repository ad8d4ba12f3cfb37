"""The history of one run from all its sources: the best source gives a cell its value, the rest fill gaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan

import numpy as np

from rltui.readers.base import NO_STEP, Rows
from rltui.run.table import Series, Table

__all__ = ["History", "Part", "Series", "Table"]


@dataclass(slots=True)
class Part:
    """The table of one source within a run. The higher `rank` wins a cell; among equals the later start wins."""

    name: str
    rank: tuple[int, float]
    table: Table = field(default_factory=Table)


class History:
    """The merged rows of several parts. With one part that holds rows, the merged table is that part's own."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._merged: Table | None = None

    @property
    def table(self) -> Table:
        """The rows of the run, one a training step, in step order."""
        if self._merged is None:
            filled = sorted((p for p in self.parts if p.table.n), key=lambda p: p.rank)
            if len(filled) == 1:
                return filled[0].table
            self._merged = _merge(filled)
        return self._merged

    def add_part(self, part: Part) -> None:
        self.parts.append(part)
        self.rebuild()

    def add(self, part: Part, rows: Rows) -> None:
        """Adds rows to a part and folds them into the merged table: row by row when few, else it is built anew."""
        merged, few = self._merged, len(rows) <= 16
        before = part.table.n
        part.table.add(rows)
        if merged is None:
            return
        if not few or before == 0:
            self.rebuild()
            return
        better = [p.table for p in self.parts if p is not part and p.rank > part.rank and p.table.n]
        for step in {s for s in rows.steps if s != NO_STEP} | set(part.table.steps[before:].tolist()):
            row = part.table.row_at(step)
            if row is None:
                continue
            cells = part.table.cells(row)
            for table in better:
                at = table.row_at(step)
                if at is not None:
                    held = table.cells(at)
                    cells = {k: v for k, v in cells.items() if k not in held}
            merged.put(step, float(part.table.times[row]), cells, fold=True)
        merged.restarts = _restarts(self.parts)

    def rebuild(self) -> None:
        """The merged table is built anew at its next use (a part was replaced, renamed or filled in bulk)."""
        self._merged = None


def _merge(ordered: list[Part]) -> Table:
    """All parts in one table; `ordered` by rising rank."""
    out = Table()
    if not ordered:
        return out
    steps = np.unique(np.concatenate([p.table.steps for p in ordered]))
    times = np.full(len(steps), np.nan)
    values: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    nonfinite: dict[str, set[int]] = {}
    for part in ordered:
        table = part.table
        at = np.searchsorted(steps, table.steps)
        known = ~np.isnan(table.times)
        times[at[known]] = table.times[known]
        for key in table.columns:
            series = table.series(key)
            if series is None:
                continue
            where = at[series.rows]
            target = values.setdefault(key, np.full(len(steps), np.nan))
            target[where] = series.values
            bad = nonfinite.setdefault(key, set())
            bad.difference_update(where.tolist())
            bad.update(where[np.isnan(series.values)].tolist())
    out.load(steps, times, values, {k: sorted(v) for k, v in nonfinite.items() if v})
    out.restarts = _restarts(ordered)
    heads = [h for h in (p.table.head_step for p in ordered) if h is not None]
    out.set_head(max(heads))
    return out


def _restarts(parts: list[Part]) -> list[int]:
    return sorted({step for part in parts for step in part.table.restarts})


def newest_time(table: Table) -> float | None:
    """The newest time stamp of any row, None where rows hold none."""
    times = table.times
    if not len(times):
        return None
    newest = float(np.nanmax(times)) if not np.isnan(times).all() else float("nan")
    return None if isnan(newest) else newest
