"""Rows that were given ahead can be taken back: the table is then what it was, whatever they did to it."""

from __future__ import annotations

from array import array

from rltui.readers.base import NO_STEP, Rows
from rltui.run.table import Table


def block(steps: list[int], **columns: list[float]) -> Rows:
    return Rows(
        array("q", steps), array("d", [float("nan")] * len(steps)), {k: array("d", x) for k, x in columns.items()}
    )


def filled() -> Table:
    table = Table()
    table.add(block(list(range(1, 21)), loss=[1.0 - i / 64 for i in range(20)], reward=[i / 64 for i in range(20)]))
    return table


def state(table: Table) -> object:
    cells = [table.cells(row) for row in range(table.n)]
    others = list(table.restarts), list(table.abandoned), table.counted, table.repeated
    return table.steps.tolist(), cells, table.head_step, others


AHEAD = {
    "a new row": block([21], loss=[0.5]),
    "a new name": block([21], loss=[0.5], kl=[0.25]),
    "other values": block([20], loss=[9.0]),
    "more of a row": block([20], kl=[0.25]),
    "a restart": block([3, 4, 5, 6], loss=[3.0, 2.0, 1.0, 0.5], reward=[0.0, 0.1, 0.2, 0.3]),
    "rows without a step": block([NO_STEP, NO_STEP], loss=[0.5, 0.25]),
}


def test_the_table_is_what_it_was() -> None:
    for name, ahead in AHEAD.items():
        table = filled()
        before = state(table)
        table.take_changed()
        table.mark()
        table.add(ahead)
        assert state(table) != before, name
        table.go_back()
        assert state(table) == before, name
        changed = table.take_changed()
        assert changed is not None, name
        assert changed <= 20, name
        table.add(block([21, 22], loss=[0.5, 0.25], reward=[0.5, 0.75]))
        fresh = filled()
        fresh.add(block([21, 22], loss=[0.5, 0.25], reward=[0.5, 0.75]))
        assert state(table) == state(fresh), name


def test_what_a_screen_holds_keeps_what_it_showed() -> None:
    """A frame is a view of the columns; the rows that come instead of those taken back must not show through."""
    table = filled()
    table.mark()
    table.add(block([21], loss=[0.5]))
    shown = table.series("loss")
    assert shown is not None
    before = shown.values.tolist()
    table.go_back()
    table.add(block([21, 22], loss=[7.0, 8.0]))
    assert shown.values.tolist() == before


def test_what_was_derived_from_revised_rows_holds_no_more() -> None:
    table = filled()
    table.mark()
    table.put(5, float("nan"), {"loss": 7.0}, fold=True)
    assert table.take_changed() == 4
    table.go_back()
    assert table.take_changed() == 4
