"""The fields of one sample, found by the names that trainers give them (data: `fields.json`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from rltui.data_files import Record, kept, read
from rltui.rollouts.formats.base import EXTRA_LIMIT, FIELD_LIMIT, Raw


class FieldNames(NamedTuple):
    """Role -> the record's key with that role; None if no key has it."""

    step: str | None
    prompt: str | None
    completion: str | None
    conversation: str | None
    seen_by_reward: str | None
    reward: str | None
    advantage: str | None
    length: str | None
    total_length: str | None
    prompt_length: str | None
    truncated: str | None
    stop: str | None
    group: str | None
    others: tuple[str, ...]


class KnownNames(Record):
    """The field names of all dumps, for each role the clearest name first. `conversation`: prompt and completion in one
    list of chat messages. `reference`: the right answer. `wrappers`: lists of samples. `stopped_by_limit`: stop reasons
    that mean truncated. `not_components`: numbers that are not parts of the reward. `heavy`: lists over tokens, which
    are not kept. `validation_folders`: names of folders with validation dumps."""

    step: tuple[str, ...]
    prompt: tuple[str, ...]
    completion: tuple[str, ...]
    conversation: tuple[str, ...]
    seen_by_reward: tuple[str, ...]
    reward: tuple[str, ...]
    advantage: tuple[str, ...]
    length: tuple[str, ...]
    total_length: tuple[str, ...]
    prompt_length: tuple[str, ...]
    truncated: tuple[str, ...]
    stop: tuple[str, ...]
    group: tuple[str, ...]
    reference: tuple[str, ...]
    wrappers: tuple[str, ...]
    stopped_by_limit: frozenset[str]
    not_components: frozenset[str]
    heavy: frozenset[str]
    validation_folders: frozenset[str]


@kept
def table() -> KnownNames:
    return read(Path(__file__).with_name("fields.json"), KnownNames)


@lru_cache(maxsize=256)
def names_of(keys: tuple[str, ...]) -> FieldNames:
    """The roles of these keys."""
    known = table()

    def first(role: str) -> str | None:
        return next((name for name in getattr(known, role) if name in keys), None)

    roles = {role: first(role) for role in FieldNames._fields[:-1]}
    used = {*roles.values(), *known.heavy}
    return FieldNames(**roles, others=tuple(key for key in keys if key not in used)[:EXTRA_LIMIT])


def raw(record: Mapping[str, Any], names: FieldNames | None = None) -> Raw | None:
    """The sample in a flat record; None if it has neither a completion nor a reward. `names`: the roles of its keys, if
    known."""
    if names is None:
        names = names_of(tuple(record))
    reward = record[names.reward] if names.reward is not None else None
    no_number = isinstance(reward, float) and not isfinite(reward)
    if reward.__class__ is not float or not isfinite(reward):
        reward = total(reward)
    said: tuple[Any, Any] = (None, None)
    if names.completion is None and names.conversation is not None:
        said = _halves(record[names.conversation])
    completion = record[names.completion] if names.completion is not None else said[1]
    if completion.__class__ is not str:
        completion = as_text(completion)
    if completion is None and reward is None and not no_number:
        return None
    prompt = record[names.prompt] if names.prompt is not None else said[0]
    if prompt.__class__ is not str:
        prompt = as_text(prompt)
    known = table()
    not_components = known.not_components
    components: dict[str, float] = {}
    extra: dict[str, Any] = {}
    for key in names.others:
        value = record[key]
        if value.__class__ is str:
            if value:
                extra[key] = value
        elif isinstance(value, (int, float)) and key not in not_components:
            if key in known.reference:
                extra[key] = value
            elif isfinite(value):
                components[key] = float(value)
        elif value is not None:
            extra[key] = value
    stop = record[names.stop] if names.stop is not None else None
    if isinstance(stop, str):
        extra[names.stop or "stop"] = stop
    return Raw(
        whole(record[names.step]) if names.step is not None else None,
        prompt,
        completion,
        reward,
        components,
        total(record[names.advantage], mean=True) if names.advantage is not None else None,
        _length(record, names) if names.length is not None or names.total_length is not None else None,
        None
        if stop is None and names.truncated is None
        else _truncated(record[names.truncated] if names.truncated is not None else None, stop),
        _name(record[names.group]) if names.group is not None else None,
        as_text(record[names.seen_by_reward]) if names.seen_by_reward is not None else None,
        extra,
        no_number=no_number,
    )


def _halves(talk: Any) -> tuple[Any, Any]:
    """The messages before the first assistant message, and those from there on; (None, None) if `talk` is not a list of
    messages."""
    if not isinstance(talk, Sequence) or isinstance(talk, str) or not all(isinstance(turn, Mapping) for turn in talk):
        return None, None
    first = next((at for at, turn in enumerate(talk) if turn.get("role") == "assistant"), len(talk))
    return list(talk[:first]) or None, list(talk[first:]) or None


def as_text(value: Any) -> str | None:
    """A text, a list of texts, or chat messages (`role`, `content`, tool calls), as one text; None for None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return message_text(value)
    if isinstance(value, Sequence):
        messages = [item for item in value if isinstance(item, Mapping)]
        if len(messages) == 1 and len(value) == 1:
            return message_text(messages[0])
        parts = [
            f"{item.get('role', 'text')}: {message_text(item)}" if isinstance(item, Mapping) else str(item)
            for item in value
        ]
        return "\n".join(parts)
    return str(value)


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a chat message: reasoning, content and tool calls."""
    content = message.get("content")
    if isinstance(content, Sequence) and not isinstance(content, str):
        content = "".join(str(part.get("text") or "") if isinstance(part, Mapping) else str(part) for part in content)
    parts = [f"<think>{message['reasoning_content']}</think>"] if message.get("reasoning_content") else []
    parts += [str(content)] if content else []
    calls = message.get("tool_calls") or []
    parts += [calls] if isinstance(calls, str) else [_call(call) for call in calls]
    return "\n".join(parts)


def _call(call: Any) -> str:
    """A tool call in the form that models write."""
    return f"<tool_call>{json.dumps(call, ensure_ascii=False, default=str)}</tool_call>"


def total(value: Any, *, mean: bool = False) -> float | None:
    """A finite number; for a list (rewards or advantages of tokens) its sum, or its mean with `mean`. None for anything
    else."""
    if isinstance(value, (float, int)):
        return float(value) if isfinite(value) else None
    if isinstance(value, list) and value:
        numbers = [total(item, mean=mean) for item in value]
        known = [number for number in numbers if number is not None]
        if len(known) == len(numbers):
            return sum(known) / (len(known) if mean else 1)
    return None


def whole(value: Any) -> int | None:
    """An integer, also if it is written as text or as a float without a fraction; None for anything else."""
    if value.__class__ is int:
        return int(value) if -(1 << 53) < value < 1 << 53 else None
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) < 16 else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < 1 << 53 else None


def short_json(value: Any) -> str:
    """A value as short JSON text."""
    return json.dumps(value, ensure_ascii=False, default=str)[:FIELD_LIMIT]


def _length(record: Mapping[str, Any], names: FieldNames) -> int | None:
    if names.length:
        return whole(record[names.length])
    whole_length = whole(record[names.total_length]) if names.total_length else None
    prompt_length = whole(record[names.prompt_length]) if names.prompt_length else None
    return None if whole_length is None or prompt_length is None else whole_length - prompt_length


def _truncated(value: Any, stop: Any) -> bool | None:
    if isinstance(value, bool | int | float):
        return bool(value)
    return stop.lower() in table().stopped_by_limit if isinstance(stop, str) else None


def _name(value: Any) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("id")
    return None if value is None else str(value)
