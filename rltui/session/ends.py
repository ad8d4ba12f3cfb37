"""The ends of a file, which are read before the rest: where reading can begin, and the records from there on."""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8

from msgspec import Struct

from rltui.readers.base import EpochReader, LineReader, LogLine, Reader, Record, Rows
from rltui.readers.compressed import packing
from rltui.readers.formats import CONSOLES, formats, make
from rltui.sources.base import Place, SourceError

BLOCK = 1 << 15
"""Block size of W&B and SwanLab logs: reading can begin at any block."""


class Extent(Struct, frozen=True):
    """How many bytes are read from the beginning and the end of a file that is larger than `whole_bytes`.
    `again_bytes`: the most bytes of the end, if a shorter end holds no row. `lines`: log lines are kept. `first_rows`:
    rows of the beginning are kept; if not, only its other records (config, banners) are."""

    head_bytes: int
    tail_bytes: int
    whole_bytes: int
    again_bytes: int
    lines: bool
    first_rows: bool


ALL = None
"""Every byte."""

ENDS = Extent(1 << 13, 1 << 14, 1 << 16, 1 << 18, lines=False, first_rows=True)
"""For a list of many runs: about the 3 first and 6 last console rows of 60 metrics. Smaller files are read whole."""

NEWEST = Extent(BLOCK, 1 << 16, 0, 1 << 16, lines=True, first_rows=False)
"""For the screen while a long history is read: about 25 rows of 60 metrics."""

WHOLE_MOST = 1 << 22
"""A file up to this size is read whole if it cannot be read from its end (packed, a database, one JSON document), or if
its end names an error. If a larger file cannot be read from its end, nothing is known until all of it is read."""


QUIET_S = 5.0
"""A file that was not written for this long has ended: its last line is complete even without a newline."""

_BLOCKED_LEAST = 3 * BLOCK // 4

_EPOCH = re.compile(rb"\bepoch\b[^\w\n.]{0,4}(\d+)(?![\d.])", re.IGNORECASE)
"""The number of an epoch in printed text. A fraction shows nothing about steps, as HF trainers print it beside them."""


class EndsRead(Struct):
    """The records of a file's beginning (`first_bytes` long) and end, `gap` bytes apart. `bytes`: how many were read.
    `other_epoch`: the end is in another epoch than the beginning, so only the unread part shows whether each epoch
    counts its steps anew. `reader`: the reader of the end, whose last record may be incomplete."""

    first: list[Record]
    newest: list[Record]
    first_bytes: int
    gap: int
    bytes: int
    other_epoch: bool
    reader: Reader


def read_ends(
    place: Place, path: str, format: str, size: int, extent: Extent, run: str = ""
) -> EndsRead | SourceError | None:
    """Reads both ends of a file of `size` bytes. `run`: the run to read, if the file holds several.

    None for a file that cannot be read from its end because it is packed, one document, or a log of several runs."""
    name = os.path.basename(path)
    reader = _made(format, name, run, extent)
    if reader.whole or (run and format in CONSOLES):
        return None
    head = place.head(path, BLOCK if formats()[format].begins == "block" else extent.head_bytes)
    if isinstance(head, SourceError):
        return head
    if packing(head) is not None:
        return None
    follower, wanted = place.follow(path), _tail_bytes(format, size, extent)
    try:
        while True:
            delta = follower.tail(wanted)
            if delta.error is not None:
                return delta.error
            gap, begin, end = max(0, delta.offset - len(head)), b"", delta.data
            if gap:
                begin, end = _joint(format, head, delta.data, delta.offset)
            elif delta.offset:  # the beginning and the end meet
                end = head[: delta.offset] + delta.data
            apart = (
                _made(format, name, run, extent) if formats()[format].begins == "anywhere" else reader
            )  # a reader that meets the gap inside a record would take its length from the wrong bytes
            first = _fed(apart, begin.removeprefix(BOM_UTF8), extent)
            epoch = _epoch(apart, begin)
            newest = _fed(reader, end, extent)
            wanted *= 4
            if not gap or wanted > extent.again_bytes or any(isinstance(record, Rows) for record in newest):
                break
            reader = _made(format, name, run, extent)
    finally:
        follower.close()
    if not extent.first_rows:
        first = [record for record in first if not isinstance(record, Rows)]
    other_epoch = bool(gap) and epoch is not None and _epoch(reader, end) not in (None, epoch)
    return EndsRead(first, newest, len(head), gap, len(begin) + len(delta.data), other_epoch, reader)


def _made(format: str, name: str, run: str, extent: Extent) -> Reader:
    reader = make(format, name, run)
    if not extent.lines and isinstance(reader, LineReader):
        reader.only_rows()
    return reader


def _tail_bytes(format: str, size: int, extent: Extent) -> int:
    """How many bytes of the end to read. For a list, the bytes after the last block border are enough unless they are
    too few."""
    if formats()[format].begins != "block" or not extent.first_rows:
        return extent.tail_bytes
    last = size % BLOCK
    return last if last >= _BLOCKED_LEAST else last + BLOCK


def _joint(format: str, head: bytes, tail: bytes, offset: int) -> tuple[bytes, bytes]:
    """The parts of the beginning and the end to feed to the reader, cut so that the end begins with a whole record."""
    if formats()[format].begins == "anywhere":
        return head, tail
    if formats()[format].begins == "block":
        return head.ljust(BLOCK, b"\0") + bytes(BLOCK), tail[-offset % BLOCK :]
    return head[: head.rfind(b"\n") + 1], tail[tail.find(b"\n") + 1 :]


def _epoch(reader: Reader, data: bytes) -> int | None:
    """The epoch of the newest row that was read; None if none is stated, or if this format's steps continue across
    epochs."""
    if isinstance(reader, EpochReader):
        return reader.epoch
    stated = _EPOCH.findall(data) if reader.format == "console" else ()
    return int(stated[-1]) if stated else None


def _fed(reader: Reader, data: bytes, extent: Extent) -> list[Record]:
    records = reader.feed(data)
    return records if extent.lines else [record for record in records if not isinstance(record, LogLine)]
