"""The polars frame of a history tells null (not logged) from NaN (logged as NaN)."""

from __future__ import annotations

import math
from array import array

from hypothesis import given
from hypothesis import strategies as st

from rltui.readers.base import Rows
from rltui.run.frames import frame
from rltui.run.history import Table

cell = st.one_of(st.none(), st.floats(-1e6, 1e6), st.just(math.nan))


@given(st.lists(st.tuples(cell, cell), max_size=30))
def test_cells_are_the_tables(rows: list[tuple[float | None, float | None]]) -> None:
    table = Table()
    block = Rows(array("q", range(1, len(rows) + 1)), array("d", [math.nan] * len(rows)))
    for i, key in enumerate(("loss", "step")):
        block.values[key] = array("d", [math.nan if r[i] is None else r[i] for r in rows])
        block.nonfinite[key] = [n for n, r in enumerate(rows) if r[i] is not None and math.isnan(r[i])]
    table.add(block)
    made = frame(table)
    assert made["step"].to_list() == list(range(1, len(rows) + 1))
    assert made["time"].null_count() == len(rows)
    for i, key in enumerate(("loss", "step_")):
        if key not in made.columns:
            assert all(r[i] is None for r in rows)
            continue
        for got, want in zip(made[key].to_list(), (r[i] for r in rows), strict=True):
            assert got == want or (got is not None and want is not None and math.isnan(got) and math.isnan(want))


def test_only_the_keys_asked_for() -> None:
    table = Table()
    table.add(Rows(array("q", [5]), array("d", [1.5]), {"a": array("d", [1.0]), "b": array("d", [2.0])}))
    assert frame(table, ["b", "absent"]).to_dicts() == [{"step": 5, "time": 1.5, "b": 2.0}]
