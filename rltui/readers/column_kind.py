"""Which files are tables that were saved as columns, by their first bytes and by their names. Every search of a
directory asks this, so it knows nothing that reads them."""

from __future__ import annotations

import re

from rltui.lazy_regex import lazy

PARQUET, ARROW = "parquet", "arrow"
PARQUET_MARK = b"PAR1"
FEATHER_MARK = b"ARROW1"
_STREAM = b"\xff\xff\xff\xff"
"""What messages of Arrow that follow each other begin with, as Hugging Face writes data sets."""
_ENDINGS = (".arrow", ".arrows", ".feather", ".ipc")
_CALLED = lazy(
    r"(?:.*[^a-z])?(?:metrics?|history|logs?|scalars?|progress|stats|curves?)(?:[^a-z].*)?\.(?:parquet|feather|arrow)",
    re.IGNORECASE,
)


def is_called_like_metrics(name: str) -> bool:
    """Whether the name says that rows of metrics are in it: data sets and samples are saved so, too."""
    return _CALLED.fullmatch(name) is not None


def column_format(head: bytes, name: str) -> str | None:
    """Which of them begins so; None for anything else."""
    if head.startswith(PARQUET_MARK):
        return PARQUET
    stream = head.startswith(_STREAM) and name.endswith(_ENDINGS)
    return ARROW if stream or head.startswith(FEATHER_MARK) else None
