"""A comparison as strict JSON: the same bytes for the same runs, numbers that are not finite are null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass

from rltui.compare.model import Comparison
from rltui.report.to_json import dumps, rounded


def to_json(comparison: Comparison) -> str:
    """One JSON object and a line end; keys as in `schema.json`."""
    plain = {f.name: _plain(getattr(comparison, f.name)) for f in fields(comparison)}
    return dumps({"schema": plain.pop("schema")} | plain)


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return rounded(value)
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {_text(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return _text(str(value))


def _text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
