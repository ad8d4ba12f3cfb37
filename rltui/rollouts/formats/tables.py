"""Samples in tables: TRL's `completions_{step}.parquet`, any parquet file with a column of completions, and W&B tables
(`media/table/*.table.json`). A row is one sample; in verl's `val/generations` a row is many samples.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from typing import Any

import orjson

from rltui.rollouts.formats import fields
from rltui.rollouts.formats.base import Block, Raw

_WIDE = re.compile(r"(.+?)_(\d+)")


class _FrameRows:
    """The rows of a frame, converted to dicts on demand."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __len__(self) -> int:
        return int(self._frame.height)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        found: Iterator[dict[str, Any]] = self._frame.iter_rows(named=True)
        return found

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not 0 <= index < self._frame.height:
            raise IndexError(index)
        row: dict[str, Any] = self._frame.row(index, named=True)
        return row


def read_parquet(data: bytes) -> Block:
    """The samples of a parquet file. Raises ValueError with the reason if it cannot be read."""
    import polars

    try:
        heavy = fields.table().heavy
        columns = [name for name in polars.read_parquet_schema(io.BytesIO(data)) if name not in heavy]
        frame = polars.read_parquet(io.BytesIO(data), columns=columns)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"not readable as parquet ({str(error).splitlines()[0]})") from None
    except BaseException as error:  # a panic of the parquet decoder on damaged bytes is not an Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise ValueError("not readable as parquet (damaged)") from None
    return Block(_FrameRows(frame), _parse_row)  # type: ignore[arg-type]


def read_csv(data: bytes) -> Block:
    """The samples of a text table with a header line, separated by commas or tabs. Cells become numbers if possible,
    except for prompts, completions and references. Raises ValueError if there is no header line."""
    text = data.decode("utf-8-sig", "replace").replace("\0", "")
    head = text.partition("\n")[0]
    csv.field_size_limit(sys.maxsize)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t" if "\t" in head else ",")
    try:
        records = [{name: _cell(name, cell) for name, cell in row.items() if name} for row in rows]
    except csv.Error as error:
        raise ValueError(f"not readable as CSV ({error})") from None
    if not rows.fieldnames:
        raise ValueError("not a table with names")
    return Block(records, _parse_row)


def _cell(name: str, cell: str | None) -> Any:
    """The number that a cell holds, else its text. Prompts, completions and reference answers always stay text."""
    known = fields.table()
    if not cell:
        return "" if name in known.completion else None
    if name in known.prompt or name in known.completion or name in known.reference:
        return cell
    try:
        return float(cell)
    except ValueError:
        return {"true": True, "false": False}.get(cell.lower(), cell)


def count_parquet(data: bytes) -> int | None:
    """The number of rows, from the file's own index; None if it is damaged."""
    import polars

    try:
        return int(polars.scan_parquet(io.BytesIO(data)).select(polars.len()).collect().item())
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        return None


def _parse_row(row: dict[str, Any]) -> list[Raw]:
    found = fields.raw(row)
    return [] if found is None else [found]


def read_wandb(data: bytes) -> Block:
    """The samples of a W&B table. Raises ValueError if it is not one."""
    try:
        table = orjson.loads(data)
        columns, rows = table["columns"], table["data"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise ValueError("not a W&B table") from None
    if not isinstance(columns, list) or not isinstance(rows, list):
        raise ValueError("not a W&B table")
    names = [str(column) for column in columns]
    wide = _wide(names)

    def parse(row: Any) -> list[Raw]:
        record = dict(zip(names, row, strict=True))
        if not wide:
            found = fields.raw(record)
            return [] if found is None else [found]
        shared = {name: value for name, value in record.items() if not _WIDE.fullmatch(name)}
        samples = [fields.raw({**shared, **{key: record[name] for key, name in one.items()}}) for one in wide]
        return [sample for sample in samples if sample is not None]

    return Block(rows, parse)


def is_cumulative(head: bytes) -> bool:
    """Whether this is verl's validation table. Each such table repeats all earlier steps, so only the newest file is
    needed."""
    return b'"input_1"' in head[:4096] and b'"output_1"' in head[:4096]


def _wide(names: list[str]) -> list[dict[str, str]]:
    """For columns `input_1, output_1, score_1, input_2, ...`: bare name -> column, for each number."""
    numbered: dict[int, dict[str, str]] = {}
    for name in names:
        if match := _WIDE.fullmatch(name):
            numbered.setdefault(int(match[2][:9]), {})[match[1]] = name
    return [numbered[n] for n in sorted(numbered) if len(numbered[n]) > 1]
