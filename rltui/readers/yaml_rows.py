"""Rows that were saved as YAML: a list of them, a document each, or one under each step. A config is none of these."""

from __future__ import annotations

import json
from typing import Any

FEWEST_ROWS = 3
MAX_VALUES = 4_000_000
ENDINGS = (".yaml", ".yml")
_BEGINS_ROW = b"-0123456789"


def rows(text: bytes) -> Any:
    """The document as JSON would hold it. Raises ValueError or RecursionError for what holds no rows."""
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


def whole_part(text: bytes) -> Any:
    """The same of a file that is cut off: without its last row."""
    lines = text.split(b"\n")
    begins = [at for at, line in enumerate(lines) if line[:1] and line[:1] in _BEGINS_ROW]
    return rows(b"\n".join(lines[: begins[-1]] if begins else []))


def _may_be_rows(document: Any) -> bool:
    if isinstance(document, list):
        return len(document) >= FEWEST_ROWS and all(isinstance(row, dict) for row in document)
    if not isinstance(document, dict) or len(document) < FEWEST_ROWS:
        return False
    return all(type(step) is int and isinstance(row, dict) for step, row in document.items())
