"""The newest rows of a long file at once, before its history is read: its last bytes through a reader of their own."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from rltui.readers.base import Reader, Record, Rows
from rltui.readers.compressed import packing
from rltui.readers.registry import make
from rltui.run.history import Part
from rltui.session.feed import Batch, Feed
from rltui.sources.base import SourceError

TAIL = 1 << 16
"""Bytes read of the end of each file: some 25 rows of 60 metrics."""

BLOCK = 1 << 15
"""Block size of the logs of W&B and SwanLab: reading can begin at any block."""

_BLOCKED = ("wandb", "swanlab")
_ANYWHERE = ("tensorboard",)
"""Formats whose reader finds the next record by itself from any byte on."""


@dataclass(slots=True)
class TailFeed:
    """A feed of the rows at the end of a file, and of what its beginning says besides rows (config, banners)."""

    whole: Feed
    part: Part = field(init=False)
    reader: Reader = field(init=False)
    note: str = ""
    restarting: bool = False

    def __post_init__(self) -> None:
        self.part = Part(self.whole.part.name, self.whole.part.rank)
        self.reader = make(self.whole.format, os.path.basename(self.whole.path))

    @property
    def path(self) -> str:
        return self.whole.path

    @property
    def format(self) -> str:
        return self.whole.format

    @property
    def size(self) -> int:
        return self.whole.size

    @property
    def mtime(self) -> float:
        return self.whole.mtime

    @property
    def watched(self) -> list[str]:
        return [self.path]

    def read(self, max_bytes: int = TAIL) -> Batch:
        """The records at the end of the file, in one batch."""
        if self.reader.whole:
            return Batch([], 0, False)
        head = self.whole.place.head(self.path, BLOCK)
        follower = self.whole.place.follow(self.path)
        delta = follower.tail(max_bytes)
        follower.close()
        if isinstance(head, SourceError) or delta.error is not None or packing(head) is not None:
            return Batch([], 0, False, error=head if isinstance(head, SourceError) else delta.error)
        records: list[Record] = []
        tail = delta.data
        if delta.offset:
            begin, tail = joint(self.format, head, tail, delta.offset)
            records += [record for record in self.reader.feed(begin) if not isinstance(record, Rows)]
        records += self.reader.feed(tail)
        return Batch(records, len(delta.data), False)

    def finish(self) -> list[Record]:
        """The end of the file is the end of a row that is being written: it is left to the real reading."""
        return []

    def close(self) -> None:
        """Nothing is held."""


def joint(format: str, head: bytes, tail: bytes, offset: int) -> tuple[bytes, bytes]:
    """What to feed of the beginning of a file and of its end, so that the reader is in step at the first whole record
    of the end."""
    if format in _ANYWHERE:
        return b"", tail
    if format in _BLOCKED:
        return head.ljust(BLOCK, b"\0") + bytes(BLOCK), tail[-offset % BLOCK :]
    return head[: head.rfind(b"\n") + 1], tail[tail.find(b"\n") + 1 :]
