"""Recognizes tables that were saved as columns, by their first bytes and their names. Every search of a directory
needs this, so this module must not import the code that reads them."""

from __future__ import annotations

import re

from rltui.lazy_regex import lazy

PARQUET, ARROW = "parquet", "arrow"
PARQUET_MARK = b"PAR1"
FEATHER_MARK = b"ARROW1"
_STREAM = b"\xff\xff\xff\xff"
"""The beginning of an Arrow stream, as Hugging Face writes data sets."""
_ENDINGS = (".arrow", ".arrows", ".feather", ".ipc")
_CALLED = lazy(
    r"(?:.*[^a-z])?(?:metrics?|history|logs?|scalars?|progress|stats|curves?)(?:[^a-z].*)?\.(?:parquet|feather|arrow)",
    re.IGNORECASE,
)


def is_called_like_metrics(name: str) -> bool:
    """Whether the name shows that the file holds metrics: data sets and samples are saved in this form too."""
    return _CALLED.fullmatch(name) is not None


def column_format(head: bytes, name: str) -> str | None:
    """The format of a file that begins with `head`; None if the file is not saved as columns."""
    if head.startswith(PARQUET_MARK):
        return PARQUET
    stream = head.startswith(_STREAM) and name.endswith(_ENDINGS)
    return ARROW if stream or head.startswith(FEATHER_MARK) else None
