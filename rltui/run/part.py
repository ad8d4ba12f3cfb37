"""The table of one source of a run, and where another attempt at the run took over from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from rltui.run.align import SAME
from rltui.run.table import Table

LOOKED_AT = 8
"""First rows of a file by which it is told whether it is a later attempt."""


@dataclass(slots=True)
class Part:
    """The table of one source within a run. The higher `rank` wins a cell; among equals the later start wins.

    `rank` is (class of the container, start in seconds since the epoch). Parts of one class are attempts at the run,
    one after the other, where they hold the same keys with other values. `counts`: its reader counted rows. `written`:
    when the file last was, in seconds since the epoch. `one_by_one`: rows came so, not printed all at once; `left_out`:
    reason -> how many printed rows do not count, and where the first is.
    """

    name: str
    rank: tuple[int, float]
    table: Table = field(default_factory=Table)
    counts: bool = False
    written: float = 0.0
    one_by_one: bool = False
    left_out: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def counted(self) -> bool:
        """Whether its steps are not known: most of its rows were counted."""
        return self.counts or 2 * self.table.counted > self.table.n


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
