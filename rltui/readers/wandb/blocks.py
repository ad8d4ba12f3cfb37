"""The record framing of LevelDB's log, as W&B and SwanLab write it: blocks of 32 KiB, records cut into chunks.

A chunk is crc32 (of its type and data), length (uint16), type, data. Types: 1 whole record, 2 first, 3 middle, 4 last
part. Fewer than 7 bytes left in a block are padding. The file starts with a header of 7 bytes inside the first block.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from zlib import crc32

BLOCK = 32768
HEADER = 7  # bytes of the file header, and also of a chunk header
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
_chunk_header = struct.Struct("<IHB").unpack_from
_SEED = [crc32(bytes([kind])) for kind in range(5)]
MAX_RECORD = 1 << 28
"""A record of more bytes than this is damage: a first part whose end never comes."""


class BlockLog:
    """Bytes in pieces of any size, whole records out.

    A chunk with a wrong checksum, an impossible length or a header of zeros (space that was reserved, not written)
    makes the rest of its block worthless: reading goes on at the next block. `skipped` counts such places.

    `unwanted` looks at the start of a record (buffer, position) and may say that nobody needs it: such a record is
    neither checked nor copied.
    """

    def __init__(self, header: bytes, unwanted: Callable[[bytes, int], bool]) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._header = header
        self._unwanted = unwanted
        self._pieces: list[bytes] = []  # bytes that wait
        self._waiting = 0  # their sum
        self._need = HEADER  # so many bytes must wait before anything can be done
        self._at = 0  # offset in the file of the first waiting byte
        self._lost = False  # nothing more is to be had from this block
        self._damaged = False  # parts of a record that was cut by damage may follow
        self._parts: list[bytes] | None = None  # of the record that is being put together
        self._size = 0
        self._dropping = False  # the record that is being put together is unwanted

    def feed(self, data: bytes) -> list[bytes]:
        self._pieces.append(data)
        self._waiting += len(data)
        if self._waiting < self._need:
            return []
        buffer = b"".join(self._pieces) if len(self._pieces) > 1 else data
        records: list[bytes] = []
        used = self._cut(buffer, records)
        self._at += used
        rest = buffer[used:]
        self._pieces = [rest]
        self._waiting = len(rest)
        return records

    def _skip(self, reason: str, where: int) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, f"byte {where}")

    def _cut(self, buffer: bytes, records: list[bytes]) -> int:
        """Takes the chunks of `buffer`; returns how many bytes were used and sets how many the next step needs."""
        at, end = self._at, len(buffer)
        unwanted = self._unwanted
        pos = 0
        if not at:
            if not buffer.startswith(self._header):
                self._skip("file header", 0)
            pos = HEADER
        while True:
            left = BLOCK - (at + pos) % BLOCK
            if self._lost or left < HEADER:
                if end - pos < left:
                    self._need = left
                    return pos
                pos += left
                self._lost = False
                continue
            if end - pos < HEADER:
                self._need = HEADER
                return pos
            crc, length, kind = _chunk_header(buffer, pos)
            if not WHOLE <= kind <= LAST or length > left - HEADER:
                self._lose("unwritten space" if not (crc or length or kind) else "damaged block", at + pos)
                continue
            start = pos + HEADER
            stop = start + length
            if stop > end:
                self._need = HEADER + length
                return pos
            if kind == WHOLE and unwanted(buffer, start):
                self._close(at + pos)
                pos = stop
                continue
            chunk = buffer[start:stop]
            if not (self._dropping and kind >= MIDDLE) and crc32(chunk, _SEED[kind]) != crc:
                self._lose("damaged block", at + pos)
                continue
            if kind == WHOLE:
                self._close(at + pos)
                records.append(chunk)
            else:
                self._part(kind, chunk, at + pos, records)
            pos = stop

    def _lose(self, reason: str, where: int) -> None:
        self._skip(reason, where)
        self._lost = self._damaged = True
        self._parts, self._dropping = None, False

    def _close(self, where: int) -> None:
        """A new record begins: parts of one that did not end are lost."""
        if self._parts is not None:
            self._skip("record without an end", where)
        self._parts, self._dropping, self._damaged = None, False, False

    def _part(self, kind: int, chunk: bytes, where: int, records: list[bytes]) -> None:
        if kind == FIRST:
            self._close(where)
            self._dropping = self._unwanted(chunk, 0)
            self._parts, self._size = [chunk], len(chunk)
            return
        if self._parts is None:
            if not self._damaged:
                self._skip("record without a beginning", where)
                self._damaged = True
            return
        self._size += len(chunk)
        if not self._dropping:
            self._parts.append(chunk)
            if self._size > MAX_RECORD:
                self._skip("record too long", where)
                self._parts, self._damaged = None, True
                return
        if kind == LAST:
            if not self._dropping:
                records.append(b"".join(self._parts))
            self._parts, self._dropping = None, False
