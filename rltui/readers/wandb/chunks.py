"""The chunks of many blocks of a LevelDB log, found side by side: each block begins with a chunk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

BLOCK = 32768
HEADER = 7  # bytes of the file header, and also of a chunk header
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
BROKEN, UNWANTED = 0, 5  # no kinds of the format
_LONGEST_NUMBER = 5
"""Bytes of a record's number: no file reaches a longer one."""

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def of_blocks(buffer: bytes, begin: int, count: int, unwanted: int | None) -> Iterator[tuple[int, int, int, int]]:
    """Position, checksum, length and kind of the chunks of `count` blocks from `begin` on, in order; of kind BROKEN
    where there is no chunk: the rest of that block is left out.

    Whole records whose tag is `unwanted` (see `begins_with`) are of kind UNWANTED, and left out where they stand
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
    """The record at `pos` is `08 NUMBER TAG ..`."""
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
    """The same of many records."""
    last = np.minimum(starts + lengths, len(b)) - 1
    at = np.minimum(starts + 1, last)
    for _ in range(_LONGEST_NUMBER - 1):
        at += (b[at] > 127) & (at < last)
    found: NDArray[np.bool_] = (lengths > 2) & (b[np.minimum(starts, last)] == 8) & (b[at] < 128) & (at < last)
    found &= b[np.minimum(at + 1, last)] == tag
    return found
