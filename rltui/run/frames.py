"""The history as a polars frame, on demand: for tables, joins and everything over many runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from rltui.run.table import Table

if TYPE_CHECKING:
    import polars as pl


def frame(table: Table, keys: Iterable[str] | None = None) -> pl.DataFrame:
    """Columns `step` (Int64), `time` (Float64, seconds since the epoch) and one Float64 column a key, in step order.

    A cell that was not logged is null; one that was logged as NaN or an infinity is NaN. Keys that the table does
    not hold are left out. polars is imported here: nothing else of the live path waits for it.
    """
    import polars as pl

    n = table.n
    columns = [pl.Series("step", table.steps), pl.Series("time", table.times).fill_nan(None)]
    for key in table.columns if keys is None else keys:
        series = table.series(key)
        if series is None:
            continue
        values = np.full(n, np.nan)
        values[series.rows] = series.values
        missing = np.ones(n, dtype=np.bool_)
        missing[series.rows] = False
        columns.append(pl.Series(key, values).set(pl.Series(missing), None))
    return pl.DataFrame([c.rename(name) for c, name in zip(columns, _names(columns), strict=True)])


def _names(columns: list[pl.Series]) -> list[str]:
    """Column names, a metric called like a column of ours with an underscore behind it."""
    taken = {"step", "time"}
    return ["step", "time", *(f"{c.name}_" if c.name in taken else c.name for c in columns[2:])]
