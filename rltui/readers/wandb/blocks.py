"""Reads records in the framing of LevelDB's log, as W&B and SwanLab write it: blocks of 32 KiB, with records cut into
chunks. A chunk is: crc32 (of its type and data), length (uint16), type, data. Types: 1 whole record, 2 first part, 3
middle part, 4 last part. If fewer than 7 bytes are left in a block, they are padding. The file begins with a header of
7 bytes, inside the first block."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

BLOCK = 32768
HEADER = 7  # bytes of the file header, and also of a chunk header
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
BROKEN, UNWANTED = 0, 5  # not kinds of the format itself
_LONGEST_NUMBER = 5
"""The most bytes of a record's number: no file has so many records that a number takes more."""

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def of_blocks(buffer: bytes, begin: int, count: int, unwanted: int | None) -> Iterator[tuple[int, int, int, int]]:
    """Position, checksum, length and kind of the chunks of `count` blocks from `begin` on, in order. A place without a
    valid chunk has the kind BROKEN, and the rest of its block is left out.

    Whole records whose tag is `unwanted` (see `begins_with`) have the kind UNWANTED, and are left out if they are
    between whole records.
    """
    b = np.frombuffer(buffer, dtype=np.uint8)
    words = np.ndarray((len(b) - 3,), dtype="<u4", buffer=buffer, strides=(1,))
    at: Ints = begin + BLOCK * np.arange(count)
    ends = at + BLOCK
    places, tails, fitting = [], [], []
    while len(at):
        tail = words[at + 3]  # of a header: the checksum's last byte, length, kind
        after = at + HEADER + (tail >> 8 & 0xFFFF)
        fits = ((tail >> 24) - WHOLE <= LAST - WHOLE) & (after <= ends)
        places.append(at)
        tails.append(tail)
        fitting.append(fits)
        more = fits & (after <= ends - HEADER)
        at, ends = after[more], ends[more]
    place = np.concatenate(places)
    order = np.argsort(place)
    place, tail, fits = place[order], np.concatenate(tails)[order], np.concatenate(fitting)[order]
    lengths, kinds = (tail >> 8 & 0xFFFF).astype(np.int64), np.where(fits, tail >> 24, BROKEN)
    if unwanted is not None:
        whole = kinds == WHOLE
        some = np.flatnonzero(whole)
        kinds[some[_all_begin_with(b, place[some] + HEADER, lengths[some], unwanted)]] = UNWANTED
        needed = kinds != UNWANTED
        needed[1:-1] |= ~(whole[:-2] & whole[2:])
        needed[[0, -1]] = True
        place, lengths, kinds = place[needed], lengths[needed], kinds[needed]
    return zip(*(numbers.tolist() for numbers in (place, words[place], lengths, kinds)), strict=True)


def begins_with(buffer: bytes, pos: int, tag: int | None) -> bool:
    """Whether the record at `pos` is `08 NUMBER TAG ..`."""
    try:
        if tag is None or buffer[pos] != 8:
            return False
        for at in range(pos + 1, pos + 1 + _LONGEST_NUMBER):
            if buffer[at] < 128:
                return buffer[at + 1] == tag
        return False
    except IndexError:
        return False


def _all_begin_with(b: Bytes, starts: Ints, lengths: Ints, tag: int) -> NDArray[np.bool_]:
    """`begins_with` for many records."""
    last = np.minimum(starts + lengths, len(b)) - 1
    at = np.minimum(starts + 1, last)
    for _ in range(_LONGEST_NUMBER - 1):
        at += (b[at] > 127) & (at < last)
    found: NDArray[np.bool_] = (lengths > 2) & (b[np.minimum(starts, last)] == 8) & (b[at] < 128) & (at < last)
    found &= b[np.minimum(at + 1, last)] == tag
    return found


MANY = 4
"""From this many whole blocks on, their chunks are found for all blocks at once."""
_chunk_header = struct.Struct("<IHB").unpack_from
_SEED = [crc32(bytes([kind])) for kind in range(5)]
MAX_RECORD = 1 << 28
"""A record with more bytes than this is damaged: its last part never comes."""


class BlockLog:
    """Takes bytes in pieces of any size and returns whole records.

    If a chunk has a wrong checksum, an impossible length or a header of zeros (reserved space that was never written),
    the rest of its block is lost, and reading continues at the next block. `skipped` counts such places.

    Protobuf records `08 NUMBER TAG ..` whose tag is `unwanted` are neither checked nor copied.
    """

    def __init__(self, header: bytes, unwanted: int | None = None) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._header = header
        self._unwanted = unwanted
        self._pieces: list[bytes] = []  # bytes that wait
        self._waiting = 0  # the count of these bytes
        self._need = HEADER  # bytes that must wait before the next step
        self._at = 0  # offset in the file of the first waiting byte
        self._lost = False  # the rest of this block is lost
        self._damaged = False  # parts of a record whose beginning is damaged may follow
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
        self._pieces = [rest] if rest else []
        self._waiting = len(rest)
        return records

    def _skip(self, reason: str, where: int) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, f"byte {where}")

    def _cut(self, buffer: bytes, records: list[bytes]) -> int:
        """Takes the chunks of `buffer`. Returns the count of used bytes and sets the count that the next step needs."""
        at, end = self._at, len(buffer)
        pos = 0
        if not at:
            if not buffer.startswith(self._header):
                self._skip("file header", 0)
            pos = HEADER
        while True:
            left = BLOCK - (at + pos) % BLOCK
            if left == BLOCK and end - pos >= MANY * BLOCK and not self._lost:
                pos = self._take_blocks(buffer, pos, records)
                continue
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
            self._take_chunk(buffer, pos, crc, length, kind, records)
            if not self._lost:
                pos = stop

    def _take_blocks(self, buffer: bytes, begin: int, records: list[bytes]) -> int:
        """Takes the whole blocks from `begin` on. Returns their end."""
        count = (len(buffer) - begin) // BLOCK
        behind_lost = 0  # the end of the last block whose rest is lost
        seed = _SEED[WHOLE]
        for pos, crc, length, kind in of_blocks(buffer, begin, count, self._unwanted):
            if pos < behind_lost:
                continue
            if kind == WHOLE:
                chunk = buffer[pos + HEADER : pos + HEADER + length]
                if crc32(chunk, seed) == crc:
                    if self._parts is not None or self._damaged:
                        self._close(self._at + pos)
                    records.append(chunk)
                    continue
            if kind == BROKEN:
                self._lose("damaged block" if any(buffer[pos : pos + HEADER]) else "unwritten space", self._at + pos)
            else:
                self._take_chunk(buffer, pos, crc, length, kind, records)
            if self._lost:
                behind_lost, self._lost = pos + BLOCK - (pos - begin) % BLOCK, False
        return begin + count * BLOCK

    def _take_chunk(self, buffer: bytes, pos: int, crc: int, length: int, kind: int, records: list[bytes]) -> None:
        """Takes the chunk at `pos`, with its checksum, length and kind."""
        start = pos + HEADER
        where = self._at + pos
        if kind == UNWANTED or (kind == WHOLE and begins_with(buffer, start, self._unwanted)):
            self._close(where)
            return
        chunk = buffer[start : start + length]
        if not (self._dropping and kind >= MIDDLE) and crc32(chunk, _SEED[kind]) != crc:
            self._lose("damaged block", where)
        elif kind == WHOLE:
            self._close(where)
            records.append(chunk)
        else:
            self._part(kind, chunk, where, records)

    def _lose(self, reason: str, where: int) -> None:
        self._skip(reason, where)
        self._lost = self._damaged = True
        self._parts, self._dropping = None, False

    def _close(self, where: int) -> None:
        """Drops the parts of a record that did not end, because a new record begins."""
        if self._parts is not None:
            self._skip("record without an end", where)
        self._parts, self._dropping, self._damaged = None, False, False

    def _part(self, kind: int, chunk: bytes, where: int, records: list[bytes]) -> None:
        if kind == FIRST:
            self._close(where)
            self._dropping = begins_with(chunk, 0, self._unwanted)
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
