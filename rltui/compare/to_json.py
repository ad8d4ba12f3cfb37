"""A comparison as strict JSON: the same bytes for the same runs, numbers that are not finite are null."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib.resources import files
from typing import Any

from rltui.compare.model import Comparison
from rltui.report.to_json import dumps, rounded


def to_json(comparison: Comparison) -> str:
    """One JSON object and a line end; keys as in `load_schema`."""
    plain = {f.name: _plain(getattr(comparison, f.name)) for f in fields(comparison)}
    return dumps({"schema": plain.pop("schema")} | plain)


def load_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) that every comparison keeps."""
    schema: dict[str, Any] = json.loads(files("rltui.compare").joinpath("schema.json").read_text(encoding="utf-8"))
    return schema


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
