"""Rows that were saved as YAML or TOML: a list of them, a document each, or one under each step. A config is none of
these."""

from __future__ import annotations

import datetime
import json
import tomllib
from typing import Any

from rltui.readers.row_kinds import measures

FEWEST_ROWS = 3
MAX_VALUES = 4_000_000
ENDINGS = (".yaml", ".yml", ".toml")
_TOML = ".toml"
_BEGINS_ROW = b"-0123456789"


def rows(text: bytes, name: str) -> Any:
    """The document as JSON would hold it. Raises ValueError or RecursionError for what holds no rows. `name`: of the
    file, which tells the syntax."""
    return _toml(text) if name.endswith(_TOML) else _yaml(text)


def _yaml(text: bytes) -> Any:
    import yaml  # late: few runs need it

    from rltui.readers.config_file import bounded

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        documents = list(yaml.load_all(text.decode("utf-8", "replace").replace("\0", ""), Loader=loader))  # type: ignore[no-untyped-call]
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    found = documents[0] if len(documents) == 1 else [one for one in documents if one is not None]
    if not _may_be_rows(found) or not bounded(found, MAX_VALUES):
        raise ValueError("no rows")
    return json.loads(json.dumps(found, default=str, skipkeys=True))


def _toml(text: bytes) -> Any:
    """Settings above the rows stand beside them, as a config in a JSON document does."""
    found = tomllib.loads(text.decode("utf-8", "replace").replace("\0", ""))
    lists = [value for value in found.values() if isinstance(value, list) and _may_be_rows(value)]
    if not any(measures(rows[0]) for rows in lists):  # a schedule has steps, too
        raise ValueError("no rows")
    return json.loads(json.dumps(found, default=_stated, skipkeys=True))


def _stated(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime.datetime) else str(value)


def whole_part(text: bytes, name: str) -> Any:
    """The same of a file that is cut off: without its last row."""
    lines = text.split(b"\n")
    first = b"[" if name.endswith(_TOML) else _BEGINS_ROW
    begins = [at for at, line in enumerate(lines) if line[:1] and line[:1] in first]
    return rows(b"\n".join(lines[: begins[-1]] if begins else []), name)


def _may_be_rows(document: Any) -> bool:
    if isinstance(document, list):
        return len(document) >= FEWEST_ROWS and all(isinstance(row, dict) for row in document)
    if not isinstance(document, dict) or len(document) < FEWEST_ROWS:
        return False
    return all(type(step) is int and isinstance(row, dict) for step, row in document.items())
