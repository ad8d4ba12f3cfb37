"""JSONL dumps, and the same objects in one JSON file: a sample a line (verl's `{step}.jsonl`, AReaL, SkyRL) or several
as lists (ms-swift's `completions.jsonl`, NeMo-RL's `train_data_step{N}.jsonl`). `episodes` reads the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from rltui.rollouts.formats import episodes, fields
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
    if _holds_lists(record, names):
        return _of_lists(record)
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
        special = episodes.of_trajectories
    elif episodes.is_summary(keys):
        special = episodes.of_summary
    return special, fields.names_of(keys)


def _with_nan(line: bytes) -> Any:
    """JSON with bare NaN and Infinity, as Python writes it."""
    import json

    return json.loads(line.decode("utf-8", "replace"))


def read_list(data: bytes) -> Block:
    """Raises ValueError with the reason where the file holds no such JSON."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error})") from None
    return Block(found if isinstance(found, list) else [found], of_record)


def _holds_lists(record: Mapping[str, Any], names: fields.FieldNames) -> bool:
    """Texts stand in lists of strings or of message lists: a single sample would hold a string or messages."""
    value = record.get(names.completion or "")
    if value.__class__ is str:
        return False
    if isinstance(record.get("content"), list):
        return "input_lengths" in record or "rewards" in record
    return isinstance(value, list) and bool(value) and all(isinstance(item, str | list) for item in value)


def _of_lists(record: Mapping[str, Any]) -> list[Raw]:
    """One sample for each place of the lists. Lists of another length and plain values belong to all."""
    if "content" in record:
        return _of_messages(record)
    names = fields.names_of(tuple(record))
    size = len(record[names.completion or ""])
    found = []
    for place in range(size):
        one = {k: v[place] if isinstance(v, list) and len(v) == size else v for k, v in record.items()}
        sample = fields.raw(one)
        if sample is not None:
            found.append(sample)
    return found


def _of_messages(record: Mapping[str, Any]) -> list[Raw]:
    """NeMo-RL: `content` holds the texts of the turns, of which the last is the model's. Other values are lists of one,
    or lists over tokens."""
    turns = record["content"]
    while len(turns) == 1 and isinstance(turns[0], list):
        turns = turns[0]
    texts = [fields.as_text(turn) or "" for turn in turns]
    heavy = fields.table().heavy
    one = {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in record.items() if k not in heavy}
    one.pop("content")
    one["prompt"], one["completion"] = ("\n".join(texts[:-1]) or None, texts[-1]) if texts else (None, None)
    sample = fields.raw(one)
    return [] if sample is None else [sample]
