"""TRL's `completions_{step}.parquet`, and any parquet file with a column of completions."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from rltui.rollouts.formats import fields
from rltui.rollouts.formats.base import Block, Raw


class _Rows:
    """Rows of a frame, as dicts when asked for."""

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


def read(data: bytes) -> Block:
    """The samples of a parquet file. Raises ValueError with the reason where it cannot be read."""
    import polars

    try:
        heavy = fields.table().heavy
        columns = [name for name in polars.read_parquet_schema(io.BytesIO(data)) if name not in heavy]
        frame = polars.read_parquet(io.BytesIO(data), columns=columns)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"not readable as parquet ({str(error).splitlines()[0]})") from None
    except BaseException as error:  # a panic of the parquet decoder on damaged bytes is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise ValueError("not readable as parquet (damaged)") from None
    return Block(_Rows(frame), _parse)  # type: ignore[arg-type]


def count(data: bytes) -> int | None:
    """Rows, from the file's own index; None where it is damaged."""
    import polars

    try:
        return int(polars.scan_parquet(io.BytesIO(data)).select(polars.len()).collect().item())
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        return None


def _parse(row: dict[str, Any]) -> list[Raw]:
    found = fields.raw(row)
    return [] if found is None else [found]
