"""CRC-32C (Castagnoli) as TFRecords carry it: rotated and offset, of one piece of bytes or of many at once."""

from __future__ import annotations

from functools import cache

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
    """The checksum of a few bytes: a tenth of a microsecond each."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + _OFFSET) & 0xFFFFFFFF


@cache
def _pair_tables() -> tuple[Words, Words, Words, Words]:
    """What two bytes do to the checksum that stand at the end of eight, two, four and six bytes before it."""
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
    """The checksums of the pieces of `b` at `starts`, each of 8 bytes or more: eight bytes of all of them at a time.

    A piece is taken as filled up with zeros before its first byte, which do nothing to a checksum that begins with 0;
    that it begins with all ones is the same as its first four bytes turned over.
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
