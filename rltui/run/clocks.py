"""Clocks that differ: a log that names no time zone, was written elsewhere, or counts from the epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rltui.run.part import Part
from rltui.run.table import Floats, Ints, Table

ZONE_S, ZONES = 1800.0, 28
"""The clocks of two zones differ by a multiple of `ZONE_S` seconds, at most by `ZONES` times that."""
MOMENT_S = 60.0
"""Apart from its zone, a clock may be wrong by this many seconds, and ahead of ours by as much."""


def zones_apart(seconds: float) -> float:
    """How many seconds two zones are apart if their clocks differ by `seconds`; 0 if the zone is the same or the
    difference does not come from zones."""
    apart = round(seconds / ZONE_S)
    near = 0 < abs(apart) <= ZONES and abs(seconds - apart * ZONE_S) <= MOMENT_S
    return apart * ZONE_S if near else 0.0


def on_our_clock(stamped: float | None, written: float | None, now: float, zoned: bool) -> float | None:
    """The newest time inside the data (`stamped`), on the clock of `now`. None if there is none or it cannot be true: a
    row is neither from the future nor newer than its file (`written`). A time that names its zone (`zoned`) is used
    unchanged; any other may come from a clock in another zone."""
    if stamped is None:
        return None
    if written is not None and not zoned:
        stamped += zones_apart(written - stamped)
    return stamped if stamped <= min(now, now if written is None else written) + MOMENT_S else None


def written_beside(parts: Sequence[Part]) -> float | None:
    """The last write to a log whose rows have no time, if another log's rows have times; else None. It shows when a row
    came only if the files are not copies: the other log was last written at the time of its newest row."""
    timed = {part.name: float(part.table.times[at[-1]]) for part in parts if len(at := part.table.timed(1))}
    in_place = any(
        part.name in timed and part.written and abs(part.written - timed[part.name]) <= MOMENT_S for part in parts
    )
    beside = [part.written for part in parts if part.table.n and part.name not in timed and part.written]
    return max(beside) if in_place and beside else None


def behind(ordered: Sequence[Part]) -> dict[str, float]:
    """Part -> seconds by which its clock is behind those of better parts. Only for a part that has a time at the same
    step as a better one; the first such step decides. `ordered`: by rising rank."""
    out: dict[str, float] = {}
    for place, part in enumerate(ordered):
        apart = _apart(part, ordered[place + 1 :])
        if apart is not None:
            out[part.name] = zones_apart(apart)
    return out


def tells(part: Part, step: int, others: Sequence[Part], known: Mapping[str, float]) -> bool:
    """Whether a part's row at this step is the first that shows how far its clock differs from another part's. `known`:
    the result of `behind` so far."""
    row = part.table.row_at(step)
    if row is None or part.table.times[row] != part.table.times[row]:
        return False
    for other in others:
        at = other.table.row_at(step) if other.rank[0] != part.rank[0] else None
        if at is not None and other.table.times[at] == other.table.times[at]:
            return min(part, other, key=lambda one: one.rank).name not in known
    return False


def _apart(part: Part, better: Sequence[Part]) -> float | None:
    steps, times = _timed(part.table)
    for other in reversed(better):
        if len(steps) and other.rank[0] != part.rank[0]:
            at, stamps = _timed(other.table)
            shared = np.intersect1d(steps, at, assume_unique=True)[:1]
            if len(shared):
                return float((stamps[at.searchsorted(shared)] - times[steps.searchsorted(shared)])[0])
    return None


def _timed(table: Table) -> tuple[Ints, Floats]:
    known = ~np.isnan(table.times)
    return table.steps[known], table.times[known]
