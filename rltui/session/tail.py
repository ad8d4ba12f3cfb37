"""The end of a file, read before the rest of it: where reading can begin, and the records from there on."""

from __future__ import annotations

from rltui.readers.base import Reader, Record, Rows
from rltui.readers.compressed import packing
from rltui.sources.base import Place, SourceError

TAIL = 1 << 16
"""Bytes read of the end of each file: some 25 rows of 60 metrics."""

BLOCK = 1 << 15
"""Block size of the logs of W&B and SwanLab: reading can begin at any block."""

QUIET_S = 5.0
"""A file that nobody wrote to for so long is at its end: a last line without a newline is complete."""

_BLOCKED = ("wandb", "swanlab")
_ANYWHERE = ("tensorboard",)
"""Formats whose reader finds the next record by itself from any byte on."""


def read_end(
    place: Place, path: str, format: str, reader: Reader, max_bytes: int = TAIL
) -> tuple[list[Record], int] | SourceError | None:
    """The records at the end of a file through a fresh reader, with what its beginning says besides rows (config,
    banners), and the bytes of the end. None for a file that cannot be read from its end: packed, or one document."""
    if reader.whole:
        return None
    head = place.head(path, BLOCK)
    if isinstance(head, SourceError):
        return head
    follower = place.follow(path)
    delta = follower.tail(max_bytes)
    follower.close()
    if delta.error is not None:
        return delta.error
    if packing(head) is not None:
        return None
    records: list[Record] = []
    tail = delta.data
    if delta.offset:
        begin, tail = joint(format, head, tail, delta.offset)
        records += [record for record in reader.feed(begin) if not isinstance(record, Rows)]
    return [*records, *reader.feed(tail)], len(delta.data)


def joint(format: str, head: bytes, tail: bytes, offset: int) -> tuple[bytes, bytes]:
    """What to feed of the beginning of a file and of its end, so that the reader is in step at the first whole record
    of the end."""
    if format in _ANYWHERE:
        return b"", tail
    if format in _BLOCKED:
        return head.ljust(BLOCK, b"\0") + bytes(BLOCK), tail[-offset % BLOCK :]
    return head[: head.rfind(b"\n") + 1], tail[tail.find(b"\n") + 1 :]
