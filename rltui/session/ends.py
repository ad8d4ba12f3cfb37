"""The ends of a file, read before the rest of it: where reading can begin, and the records from there on."""

from __future__ import annotations

import os
from codecs import BOM_UTF8

from msgspec import Struct

from rltui.readers.base import LogLine, Reader, Record, Rows
from rltui.readers.compressed import packing
from rltui.readers.formats import formats, make
from rltui.sources.base import Place, SourceError

BLOCK = 1 << 15
"""Block size of the logs of W&B and SwanLab: reading can begin at any block."""


class Extent(Struct, frozen=True):
    """Bytes read of the beginning and of the end of a file that is larger than `whole_bytes`. `again_bytes`: if the end
    holds no row, so much of it is read at most. `lines`: the lines of a log are kept. `first_rows`: so are the rows of
    the beginning; without them it says only what stands there besides rows (config, banners)."""

    head_bytes: int
    tail_bytes: int
    whole_bytes: int
    again_bytes: int
    lines: bool
    first_rows: bool


ALL = None
"""Every byte."""

ENDS = Extent(1 << 13, 1 << 14, 1 << 16, 1 << 18, lines=False, first_rows=True)
"""A list of many runs: some 3 and 6 rows of 60 metrics of a console log; smaller files are read whole."""

NEWEST = Extent(BLOCK, 1 << 16, 0, 1 << 16, lines=True, first_rows=False)
"""What the screen shows while a long history is read: some 25 rows of 60 metrics."""

WHOLE_MOST = 1 << 22
"""Up to this size a file is read whole if it cannot be read from its end (packed, a database, one JSON document), or if
its end names an error. Of a larger one nothing is known until all of it is read."""


QUIET_S = 5.0
"""A file that was not written to for so long has ended: a last line without a newline is complete."""

_BLOCKED_LEAST = 3 * BLOCK // 4


class EndsRead(Struct):
    """The records of the beginning (its first `first_bytes`) and those of the end of a file, `gap` bytes apart; `bytes`
    were read. `reader` has read them, its last record may be open."""

    first: list[Record]
    newest: list[Record]
    first_bytes: int
    gap: int
    bytes: int
    reader: Reader


def read_ends(
    place: Place, path: str, format: str, size: int, extent: Extent, run: str = ""
) -> EndsRead | SourceError | None:
    """`size`: of the file, in bytes; `run`: the one of several in it.

    None for a file that cannot be read from its end: packed, or one document."""
    name = os.path.basename(path)
    reader = make(format, name, run)
    if reader.whole:
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
            elif delta.offset:  # both ends meet
                end = head[: delta.offset] + delta.data
            apart = (
                make(format, name, run) if formats()[format].begins == "anywhere" else reader
            )  # a record cut by the gap takes its length
            first, newest = _fed(apart, begin.removeprefix(BOM_UTF8), extent), _fed(reader, end, extent)
            wanted *= 4
            if not gap or wanted > extent.again_bytes or any(isinstance(record, Rows) for record in newest):
                break
            reader = make(format, name, run)
    finally:
        follower.close()
    if not extent.first_rows:
        first = [record for record in first if not isinstance(record, Rows)]
    return EndsRead(first, newest, len(head), gap, len(begin) + len(delta.data), reader)


def _tail_bytes(format: str, size: int, extent: Extent) -> int:
    """Bytes of the end to ask for. What stands behind the last border of a block is enough for a list, if it is not
    too little."""
    if formats()[format].begins != "block" or not extent.first_rows:
        return extent.tail_bytes
    last = size % BLOCK
    return last if last >= _BLOCKED_LEAST else last + BLOCK


def _joint(format: str, head: bytes, tail: bytes, offset: int) -> tuple[bytes, bytes]:
    """What to feed of the beginning of a file and of its end, so that the end begins at a whole record."""
    if formats()[format].begins == "anywhere":
        return head, tail
    if formats()[format].begins == "block":
        return head.ljust(BLOCK, b"\0") + bytes(BLOCK), tail[-offset % BLOCK :]
    return head[: head.rfind(b"\n") + 1], tail[tail.find(b"\n") + 1 :]


def _fed(reader: Reader, data: bytes, extent: Extent) -> list[Record]:
    if reader.format.endswith("console"):
        from rltui.readers.console.reader import ConsoleReader

        if isinstance(reader, ConsoleReader):
            reader.gives_lines = extent.lines
    records = reader.feed(data)
    return records if extent.lines else [record for record in records if not isinstance(record, LogLine)]
