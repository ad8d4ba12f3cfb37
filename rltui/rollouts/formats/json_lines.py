"""JSONL dumps: verl (`{step}.jsonl`), AReaL, SkyRL; the rest by `lists`, `episodes`, `trajectories`, `summaries`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from rltui.rollouts.formats import episodes, fields, lists, summaries, trajectories
from rltui.rollouts.formats.base import Block, Raw


def read(data: bytes, *, complete: bool = True) -> Block:
    """The samples of a JSONL dump. A last line without a newline counts only where the file is complete."""
    lines = data.split(b"\n")
    cut = lines.pop()
    if cut and complete:
        lines.append(cut)
    return Block([line for line in lines if line.strip()], parse)


def count(data: bytes) -> int:
    """Lines of a dump, without parsing any."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def parse(line: bytes) -> list[Raw]:
    """The samples of one line."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        record = _with_nan(line)
    return of_record(record)


def of_record(record: Any) -> list[Raw]:
    """The samples of one JSON object, whatever its shape. Raises for what holds none."""
    if not isinstance(record, dict):
        raise TypeError("a sample is an object")
    handler, names = _reader_of(tuple(record))
    if handler is not None:
        return handler(record)
    if lists.fits(record, names):
        return lists.raws(record)
    found = fields.raw(record, names)
    if found is None:
        raise ValueError("no sample")
    return [found]


@lru_cache(maxsize=256)
def _reader_of(keys: tuple[str, ...]) -> tuple[Callable[[Mapping[str, Any]], list[Raw]] | None, fields.FieldNames]:
    """What reads records of these keys, where it is no plain sample; and which key holds what."""
    special = None
    if "traces" in keys or "nodes" in keys:
        special = episodes.raws
    elif "trajectories" in keys and "task" in keys:
        special = trajectories.raws
    elif summaries.fits(keys):
        special = summaries.raws
    return special, fields.names_of(keys)


def _with_nan(line: bytes) -> Any:
    """JSON with bare NaN and Infinity, as Python writes it."""
    import json

    return json.loads(line.decode("utf-8", "replace"))
