"""Rows that a program printed all at once, as it ended or once an epoch, beside the rows that came one by one.

They repeat what is there, with more digits or fewer, and may add to it. They begin no attempt, unless all rows of the
file came so: then those of the next launch have other values. A list that says otherwise than the rows of its steps is
no history of this run, whatever it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from rltui.readers.base import NO_STEP, Rows
from rltui.run.column_set import cells_of
from rltui.run.part import Part
from rltui.run.restarts import OTHER_SHARE
from rltui.run.table import Table

OTHER = "printed rows with other values than the rows of their steps"
STEPLESS = "printed rows without a step, with values of none of the rows that are there"
ROUNDED = Decimal("0.51")
"""Rounding moves a number by half a unit of its last digit at most; a little more, as floats are not exact."""

Cells = Mapping[str, float]


def add_printed(part: Part, rows: Rows) -> None:
    """Adds a block of them, or counts it in `part.left_out`."""
    table, cells, steps = part.table, [cells_of(rows, i) for i in range(len(rows))], list(rows.steps)
    if NO_STEP in steps:
        fitting = [found for found in _counts(part, len(rows)) if _agree(table, found, cells) is not False]
        if not fitting:
            _leave(part, STEPLESS, rows)
            return
        steps = fitting[0]
        table.counted += sum(1 for step in steps if table.row_at(step) is None)
    elif _agree(table, steps, cells) is False:
        if part.one_by_one:
            _leave(part, OTHER, rows)
        else:
            table.add(rows)  # the next launch's
        return
    head = table.head_step
    for step, time, row in zip(steps, rows.times, cells, strict=True):
        at = table.row_at(step)
        table.repeated += at is not None and _same(table.cells(at), row) is True
        table.put(step, time, row, fold=True)
    table.set_head(max(steps) if head is None else max(head, *steps))


def _counts(part: Part, n: int) -> list[list[int]]:
    """The steps that so many rows may have which state none: from 1 on, or those of the rows that are there."""
    there: list[int] = part.table.steps.tolist()
    own = [] if part.one_by_one or (there and not part.counted) else [list(range(1, n + 1))]
    return [there, *own] if n == len(there) else own


def _agree(table: Table, steps: list[int], cells: Sequence[Cells]) -> bool | None:
    """Whether most rows say what the rows of their steps say; None if no row says of the same."""
    found = [
        same
        for step, row in zip(steps, cells, strict=True)
        if (at := table.row_at(step)) is not None and (same := _same(table.cells(at), row)) is not None
    ]
    return 2 * sum(found) >= len(found) if found else None


def _same(old: Cells, new: Cells) -> bool | None:
    """Whether two rows agree in most of what both hold, but for rounding; None if they share nothing."""
    both = [(old[key], x) for key, x in new.items() if key in old]
    other = sum(1 for a, b in both if not _is_rounded(a, b))
    return other < OTHER_SHARE * len(both) if both else None


def _is_rounded(a: float, b: float) -> bool:
    """Whether two numbers are one number, written with more digits and fewer."""
    if a == b or a != a or b != b:
        return a == b or (a != a and b != b)
    one, two = Decimal(repr(a)), Decimal(repr(b))
    unit = max(number.as_tuple().exponent for number in (one, two))
    return abs(one - two) <= ROUNDED.scaleb(int(unit))


def _leave(part: Part, reason: str, rows: Rows) -> None:
    before, place = part.left_out.get(reason, (0, rows.printed))
    part.left_out[reason] = before + len(rows), place
