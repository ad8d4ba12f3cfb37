"""The JSON Schema (draft 2020-12) of the report, as shipped."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def load_schema() -> dict[str, Any]:
    """The schema that every report's JSON keeps. Scripts may pin its `schema` value, "rltui.report/1"."""
    schema: dict[str, Any] = json.loads(files("rltui.report").joinpath("schema.json").read_text(encoding="utf-8"))
    return schema
