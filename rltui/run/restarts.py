"""A run that was restarted, told from a row that was revised late.

A restart goes back to a step that is there and finds other values: in a whole row, or as it goes on from there. A late
revision (a cell of an old step updated, a validation written after later steps) goes back with a part of a row, and the
next one goes on where the run was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

OTHER_SHARE = 0.5
"""A row is done anew where at least so much of what it repeats has another value: a resumed run does everything anew, a
repeated row nothing, a revision a cell or two."""

WHOLE_SHARE = 0.5
"""A record with at least so much of what the row held is a whole row."""

ABANDONED_ROWS = 2
"""Rows beyond a restart are abandoned where it goes back at least so far: two processes that write into one log are
apart by one row."""

SURE_ROWS = 3
"""Rows that came again as they were: a trainer that does the same each time wrote them, and one row of it that is
another may be one whose first line was torn."""


@dataclass(slots=True)
class GoneBack:
    """Records went back to row `row`; `anew`: one of them since then had other values than were there. `again`: how
    many came since then. `odd`: the newest one (step, time, cells) has other values, and `SURE_ROWS` before it had not:
    the next one tells whether the run does other things from there on, or that row alone is another."""

    row: int
    anew: bool
    again: int = 0
    odd: tuple[int, float, Mapping[str, float]] | None = None


def whole(old: Mapping[str, float], new: Mapping[str, float]) -> bool:
    """Whether a row repeats most of another."""
    return sum(key in new for key in old) >= WHOLE_SHARE * len(old)


def done_anew(old: Mapping[str, float], new: Mapping[str, float]) -> bool:
    """Whether a row repeats another with other values in most cells that both hold."""
    both = [(old[key], value) for key, value in new.items() if key in old]
    other = sum(1 for a, b in both if a == a and b == b and abs(a - b) > 1e-12 + 1e-6 * abs(a))
    return other > 0 and other >= OTHER_SHARE * len(both)
