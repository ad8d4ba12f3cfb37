"""Nested config to flat dotted keys, cleaned and redacted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite

from rltui.text import clean, redact_value

_KEY_LIMIT = 300
_VALUE_LIMIT = 1000
_MAX_KEYS = 20_000
_MAX_LIST = 200


def flatten(tree: Mapping[str, object]) -> dict[str, object]:
    """`{"a": {"b": 1}}` to `{"a.b": 1}`. Lists of plain values stay lists (at most 200 elements), other lists become
    their JSON text, an empty object stands as `{}`. At most 20,000 keys."""
    flat: dict[str, object] = {}
    stack: list[tuple[str, object]] = [(str(k), v) for k, v in reversed(list(tree.items()))]
    while stack and len(flat) < _MAX_KEYS:
        key, value = stack.pop()
        if isinstance(value, Mapping) and value:
            stack += [(f"{key}.{name}", inner) for name, inner in reversed(list(value.items()))]
        else:
            name = clean(key, _KEY_LIMIT)
            flat[name] = redact_value(name, _plain(value))
    return flat


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, str):
        return clean(value, _VALUE_LIMIT)
    if isinstance(value, list) and not any(isinstance(v, list | dict) for v in value):
        return [_plain(v) for v in value[:_MAX_LIST]]
    try:
        return clean(json.dumps(value), _VALUE_LIMIT)
    except (TypeError, ValueError, RecursionError):
        return clean(type(value).__name__, _VALUE_LIMIT)
