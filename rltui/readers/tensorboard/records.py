"""TFRecord framing: uint64 length, masked crc32c of the length, data, masked crc32c of the data.

Both checksums are checked. The checksum of a length is computed once for each distinct length; a log has few of them.
The checksum of the data is only checked up to `CHECKED` bytes: longer data are images, histograms and texts, never
numbers.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

Words = NDArray[np.uint32]

_POLYNOMIAL = 0x82F63B78  # reflected
_OFFSET = 0xA282EAD8


def _bytes_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _bytes_table()


def masked_crc32c(data: bytes) -> int:
    """The checksum of a few bytes; takes a tenth of a microsecond for each byte."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + _OFFSET) & 0xFFFFFFFF


@cache
def _pair_tables() -> tuple[Words, Words, Words, Words]:
    """Tables of what a pair of bytes adds to the checksum, one table for each place of the pair among eight bytes."""
    one = np.array(_TABLE, dtype=np.uint32)
    pairs: Words = np.arange(1 << 16, dtype=np.uint32)
    for _ in range(2):
        pairs = one[pairs & 255] ^ (pairs >> 8)
    tables = [pairs]
    for _ in range(3):
        pairs = tables[-1]
        for _ in range(2):
            pairs = one[pairs & 255] ^ (pairs >> 8)
        tables.append(pairs)
    return tables[0], tables[1], tables[2], tables[3]


def masked_crc32cs(b: NDArray[np.uint8], starts: Ints, lengths: Ints) -> Words:
    """The checksums of the pieces of `b` at `starts`, each of 8 bytes or more. Each pass handles eight bytes of every
    piece.

    Each piece is padded with zeros before its first byte. Zeros do not change a checksum that begins with 0. The real
    checksum begins with all ones, which is the same as inverting the first four bytes.
    """
    words = (lengths + 7) >> 3
    order = np.argsort(-words, kind="stable")
    words, starts = words[order], starts[order]
    fill = (8 * words - lengths[order]).astype(np.uint64) << np.uint64(3)  # bits
    eights = np.ndarray((max(len(b) - 7, 0),), dtype="<u8", buffer=b, strides=(1,))
    ends = starts - (fill >> np.uint64(3)).astype(np.int64)
    counts = np.searchsorted(-words, -np.arange(int(words[0]) if len(words) else 0))
    last, third, second, first = _pair_tables()
    crc: Words = np.zeros(len(words), dtype=np.uint32)
    ones = np.uint64(0xFFFFFFFF)
    for i, count in enumerate(counts.tolist()):
        if i == 0:
            eight = (eights[starts] ^ ones) << fill
        else:
            eight = eights[ends[:count] + 8 * i]
            eight ^= crc[:count]
            if i == 1:
                eight ^= np.where(fill[:count] > 32, ones >> (np.uint64(64) - np.maximum(fill[:count], 1)), 0)
        pairs = eight.astype("<u8", copy=False).view("<u2").reshape(-1, 4)
        crc[:count] = (
            first.take(pairs[:, 0]) ^ second.take(pairs[:, 1]) ^ third.take(pairs[:, 2]) ^ last.take(pairs[:, 3])
        )
    crc = ~crc
    crc = ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(_OFFSET)
    out: Words = np.empty_like(crc)
    out[order] = crc
    return out


HEAD = 12
TAIL = 4
CHECKED = 4096
_SHORTEST = 8
_FEW = 8
"""If there are fewer records than this, they are checked one by one."""
_header = struct.Struct("<QI").unpack_from
_LARGEST = 1 << 30
_BEGINNING = re.compile(rb"(?s)(?=(....\0\0\0\0....\x09))")
"""A place where a record may begin: a length below 4 GiB, then an event, which begins with its wall time (field 1,
double)."""
_WINDOW = 1024  # lengths that are kept
_REPEATS = 256  # lengths that must repeat before a cycle is assumed


class RecordLog:
    """Takes bytes in pieces of any size and returns the places of whole records.

    A header with a wrong checksum is counted in `skipped`, and reading continues at the next header with a right one.
    Data with a wrong checksum are counted and left out. A run writes the same tags again and again, so the lengths
    repeat in cycles. Once a cycle is known, many of the following headers are checked at a time.
    """

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._need = HEAD
        self._at = 0  # offset in the file of the first waiting byte
        self._lost = False  # searching for the next good header
        self._crcs: dict[int, int] = {}
        self._recent: list[int] = []  # the last lengths
        self._period = 0  # records in a cycle; 0 if none is known

    def feed(self, data: bytes) -> tuple[bytes, Ints, Ints]:
        """Returns a buffer, and the start and length in this buffer of the data of each record that is now whole."""
        self._pieces.append(data)
        self._waiting += len(data)
        none: Ints = np.zeros(0, dtype=np.int64)
        if self._waiting < self._need:
            return b"", none, none
        buffer = b"".join(self._pieces) if len(self._pieces) > 1 else data
        starts: list[Ints] = []
        lengths: list[Ints] = []
        used = self._cut(buffer, starts, lengths)
        sound = self._sound(buffer, np.concatenate(starts), np.concatenate(lengths)) if starts else (none, none)
        self._at += used
        self._pieces = [buffer[used:]]
        self._waiting = len(buffer) - used
        return buffer, *sound

    def _sound(self, buffer: bytes, starts: Ints, lengths: Ints) -> tuple[Ints, Ints]:
        """The records whose data have the right checksum."""
        raw = np.frombuffer(buffer, dtype=np.uint8)
        stated = np.ndarray((len(raw) - 3,), dtype="<u4", buffer=raw, strides=(1,))[starts + lengths]
        right = np.ones(len(starts), dtype=np.bool_)
        many = (lengths >= _SHORTEST) & (lengths <= CHECKED) & (len(starts) >= _FEW)
        if many.any():
            right[many] = masked_crc32cs(raw, starts[many], lengths[many]) == stated[many]
        for i in np.flatnonzero(~many & (lengths <= CHECKED)).tolist():
            start = int(starts[i])
            right[i] = masked_crc32c(buffer[start : start + int(lengths[i])]) == stated[i]
        if right.all():
            return starts, lengths
        wrong = starts[~right]
        self.skipped["damaged record"] += len(wrong)
        self.skipped_at.setdefault("damaged record", f"byte {self._at + int(wrong[0]) - HEAD}")
        return starts[right], lengths[right]

    def _cut(self, buffer: bytes, starts: list[Ints], lengths: list[Ints]) -> int:
        pos = 0
        while True:
            if self._lost:
                pos = self._search(buffer, pos)
                if self._lost:
                    self._need = HEAD + 1
                    return pos
            if self._period:
                pos = self._repeat(buffer, pos, starts, lengths)
            found, pos = self._one_by_one(buffer, pos)
            if found:
                sizes: Ints = np.array(found, dtype=np.int64)
                ends = pos - np.cumsum((sizes + HEAD + TAIL)[::-1])[::-1]
                starts.append(ends + HEAD)
                lengths.append(sizes)
                self._recent = (self._recent + found)[-_WINDOW:]
            if self._lost:
                pos += 1
            elif len(found) == _REPEATS:  # there may be more
                self._period = self._period or _find_period(self._recent)
            else:
                return pos

    def _one_by_one(self, buffer: bytes, pos: int) -> tuple[list[int], int]:
        """The lengths of at most _REPEATS records from `pos` on, and the place where the next record begins."""
        found: list[int] = []
        last = len(buffer) - HEAD - TAIL  # the last place where an empty record fits
        crcs = self._crcs
        known = crcs.get
        self._need = HEAD
        for _ in range(_REPEATS):
            if pos > last + TAIL:
                break
            length, crc = _header(buffer, pos)
            if known(length) != crc:
                if length > _LARGEST or _crc_of_length(length) != crc:
                    self.skipped["damaged record"] += 1
                    self.skipped_at.setdefault("damaged record", f"byte {self._at + pos}")
                    self._lost = True
                    return found, pos
                if len(crcs) < 1 << 16:
                    crcs[length] = crc
            if last - pos < length:
                self._need = HEAD + length + TAIL
                break
            found.append(length)
            pos += HEAD + length + TAIL
        return found, pos

    def _search(self, buffer: bytes, pos: int) -> int:
        """The next place from `pos` on with a right header. If there is none: the first place where one may still
        begin."""
        for match in _BEGINNING.finditer(buffer, pos):
            at = match.start()
            length, crc = _header(buffer, at)
            if length <= _LARGEST and masked_crc32c(buffer[at : at + 8]) == crc:
                self._lost = False
                return at
        return max(pos, len(buffer) - HEAD)

    def _repeat(self, buffer: bytes, pos: int, starts: list[Ints], lengths: list[Ints]) -> int:
        """Takes all whole cycles that follow; forgets the period if there is not even one."""
        cycle: Ints = np.array(self._recent[-self._period :], dtype=np.int64)
        steps = cycle + (HEAD + TAIL)
        size = int(steps.sum())
        count = (len(buffer) - pos) // size
        if not count:
            return pos
        heads: Ints = (pos + np.arange(count, dtype=np.int64)[:, None] * size + (np.cumsum(steps) - steps)).ravel()
        raw = np.frombuffer(buffer, dtype=np.uint8)
        long = np.ndarray((len(raw) - 7,), dtype="<u8", buffer=raw, strides=(1,))
        short = np.ndarray((len(raw) - 3,), dtype="<u4", buffer=raw, strides=(1,))
        crcs = np.array([self._crcs.get(n, -1) for n in cycle.tolist()], dtype=np.int64)
        right = (long[heads].reshape(count, -1) == cycle.astype(np.uint64)) & (
            short[heads + 8].reshape(count, -1) == crcs
        )
        good = right.all(axis=1)
        whole = count if good.all() else int(np.argmin(good))
        if not whole:
            self._period = 0
            return pos
        starts.append(heads[: whole * len(cycle)] + HEAD)
        lengths.append(np.tile(cycle, whole))
        return pos + whole * size


@lru_cache(1 << 12)
def _crc_of_length(length: int) -> int:
    """The checksum of a length. It is cached because the logs of a sweep hold records of the same lengths."""
    return masked_crc32c(struct.pack("<Q", length))


def _find_period(lengths: list[int]) -> int:
    """The shortest cycle in which the last lengths repeat; 0 if there is none."""
    newest = lengths[-1]
    for period in range(1, len(lengths) // 2 + 1):
        if lengths[-1 - period] == newest:
            span = max(2 * period, min(len(lengths), _REPEATS))
            if lengths[-span + period :] == lengths[-span:-period]:
                return period
    return 0
