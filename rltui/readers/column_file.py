"""Tables that other programs saved as columns: Parquet (W&B's exports, pandas), Feather and Arrow (Hugging Face).
polars reads them, and their rows are then treated like those of a CSV file.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rltui.readers.base import Record
from rltui.readers.column_kind import FEATHER_MARK, PARQUET_MARK
from rltui.readers.csv_file import CsvReader
from rltui.readers.document import DocumentReader

if TYPE_CHECKING:
    import polars as pl

MAX_CELLS = 100_000_000
"""The most cells of a table: a damaged file of a few kilobytes may claim more."""
SHOWN = 60
"""How many rows are looked at to decide whether the columns are metrics."""
_LISTS = "column of lists"
_DAMAGED = "table that is damaged (half written?)"


def as_csv(data: bytes, rows: int | None = None) -> tuple[bytes, int]:
    """The table, or its first `rows`, as CSV, and how many columns are left out because they hold lists. Raises
    ValueError if polars cannot read the table or it has more than `MAX_CELLS` cells."""
    import polars as pl

    try:
        frame = _frame(data)
        schema = frame.collect_schema()
        lists = [name for name, kind in schema.items() if isinstance(kind, pl.List | pl.Array | pl.Object)]
        frame = frame.drop(lists)
        while structs := [name for name, kind in frame.collect_schema().items() if isinstance(kind, pl.Struct)]:
            frame = frame.unnest(structs, separator="/")
        if frame.select(pl.len()).collect().item() * max(len(frame.collect_schema()), 1) > MAX_CELLS:
            raise ValueError("too large")
        frame = frame if rows is None else frame.head(rows)
        texts = pl.col(pl.String).str.replace_all(r"\s+", " ")
        return frame.drop(pl.selectors.binary()).with_columns(texts).collect().write_csv().encode(), len(lists)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(str(error)) from None


def _frame(data: bytes) -> pl.LazyFrame:
    import polars as pl

    if data.startswith(PARQUET_MARK):
        return pl.scan_parquet(io.BytesIO(data))
    if data.startswith(FEATHER_MARK):
        return pl.scan_ipc(io.BytesIO(data))
    return pl.read_ipc_stream(io.BytesIO(data)).lazy()


class ColumnReader(DocumentReader):
    """Reads a table that was saved as columns. `name`: the file's name. `run`: the run to read, if it holds several."""

    def __init__(self, format: str, name: str = "", run: str = "") -> None:
        super().__init__()
        self.format = format
        self._name, self._run = name, run

    def finish(self) -> list[Record]:
        if len(self._data) == self._read_size:
            return []
        self._read_size = len(self._data)
        self.skipped.clear()
        self.skipped_at.clear()
        try:
            text, lists = as_csv(bytes(self._data))
        except ValueError:
            self._skip(_DAMAGED, "byte 0")
            return []
        rows = CsvReader(self._name, self._run)
        out = [*rows.feed(text), *rows.finish()]
        for reason, count in rows.skipped.items():
            self.skipped[reason] += count
            self.skipped_at[reason] = _row(rows.skipped_at[reason])
        if lists:
            self.skipped[_LISTS] += lists
            self.skipped_at[_LISTS] = "the header"
        return out


def _row(place: str) -> str:
    """The row of the table for a line of the CSV: `row 4` for `line 5`."""
    word, _, number = place.partition(" ")
    return f"row {int(number) - 1}" if word == "line" and number.isdecimal() else place
