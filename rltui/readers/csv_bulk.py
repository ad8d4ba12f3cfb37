"""Rows of a table, many at once through polars."""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from rltui.readers.bulk import Floats
from rltui.readers.rows import number


def columns(block: bytes, separator: str, count: int, words: Set[int]) -> list[Floats | list[str]] | None:
    """The columns of whole lines, None where one of them is odd: quotes, another number of cells, a cell that is no
    number in a column that holds them. Those of `words` come as text. In the others a NaN is an empty cell, an infinity
    one that was logged as not finite."""
    import polars as pl

    if b'"' in block or b"\0" in block or count < 2:
        return None
    lines = _count(block, b"\n")
    schema = {str(place): pl.String if place in words else pl.Float64 for place in range(count)}
    try:
        frame = pl.read_csv(block, has_header=False, separator=separator, quote_char=None, schema=schema)
    except pl.exceptions.PolarsError:
        return None
    if frame.height != lines:
        return None
    if frame[:, -1].null_count() and _count(block, separator.encode()) != lines * (count - 1):
        return None  # polars fills up short rows; it refuses long ones
    numbers = frame.drop([str(place) for place in words]) if words else frame
    grid = numbers.to_numpy(order="fortran")
    if not np.isfinite(grid).all():
        grid = numbers.fill_nan(np.inf).to_numpy(order="fortran")
    cells = iter(grid.T)
    return [frame[name].fill_null("").to_list() if kind == pl.String else next(cells) for name, kind in schema.items()]


def _count(block: bytes, mark: bytes) -> int:
    """`bytes.count` of one byte, which looks for each by itself and takes some times as long."""
    return int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == mark[0]))


def repeats(steps: Floats | list[str], before: int) -> bool:
    """Whether two rows that follow each other are of one step; `before` is that of the row before the first."""
    found = steps if isinstance(steps, np.ndarray) else np.array([number(x) for x in steps], dtype=np.float64)
    return bool(len(found) and (found[0] == before or (found[1:] == found[:-1]).any()))
