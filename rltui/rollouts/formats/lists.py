"""A line that holds several samples as lists: ms-swift's `completions.jsonl`, NeMo-RL's `train_data_step{N}.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rltui.rollouts.formats import fields
from rltui.rollouts.formats.base import Raw


def fits(record: Mapping[str, Any], names: fields.FieldNames) -> bool:
    """Texts stand in lists of strings or of message lists: a single sample would hold a string or messages."""
    value = record.get(names.completion or "")
    if value.__class__ is str:
        return False
    if isinstance(record.get("content"), list):
        return "input_lengths" in record or "rewards" in record
    return isinstance(value, list) and bool(value) and all(isinstance(item, str | list) for item in value)


def raws(record: Mapping[str, Any]) -> list[Raw]:
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
