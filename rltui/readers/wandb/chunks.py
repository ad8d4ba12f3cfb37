"""The chunks of many blocks of a LevelDB log, found side by side: each block begins with a chunk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

BLOCK = 32768
HEADER = 7  # bytes of the file header, and also of a chunk header
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
_LONGEST_NUMBER = 5

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def of_blocks(buffer: bytes, begin: int, count: int, unwanted: int | None) -> Iterator[tuple[int, int, int, int, bool]]:
    """Position, checksum, length and kind of the chunks of `count` blocks from `begin` on, in order; and whether the
    chunk can be one: the rest of its block is left out where not.

    Whole records whose tag is `unwanted` (see `begins_with`) are left out where they stand between whole records.
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
    lengths, kinds = (tail >> 8 & 0xFFFF).astype(np.int64), tail >> 24
    if unwanted is not None:
        whole = (kinds == WHOLE) & fits
        needed = np.ones(len(place), dtype=np.bool_)
        needed[1:-1] = ~(whole[1:-1] & whole[:-2] & whole[2:])
        between = np.flatnonzero(~needed)
        needed[between] = ~_all_begin_with(b, place[between] + HEADER, lengths[between], unwanted)
        place, lengths, kinds, fits = place[needed], lengths[needed], kinds[needed], fits[needed]
    return zip(
        *(numbers.tolist() for numbers in (place, words[place], lengths, kinds, fits)),
        strict=True,
    )


def begins_with(buffer: bytes, pos: int, tag: int | None) -> bool:
    """The record at `pos` is `08 NUMBER TAG ..`."""
    try:
        if tag is None or buffer[pos] != 8:
            return False
        pos += 1
        while buffer[pos] > 127:
            pos += 1
        return buffer[pos + 1] == tag
    except IndexError:
        return False


def _all_begin_with(b: Bytes, starts: Ints, lengths: Ints, tag: int) -> NDArray[np.bool_]:
    """The same of many records; false for some with a number that no file reaches."""
    last = np.minimum(starts + lengths, len(b)) - 1
    at = np.minimum(starts + 1, last)
    for _ in range(_LONGEST_NUMBER - 1):
        at += (b[at] > 127) & (at < last)
    found: NDArray[np.bool_] = (lengths > 2) & (b[np.minimum(starts, last)] == 8) & (b[at] < 128) & (at < last)
    found &= b[np.minimum(at + 1, last)] == tag
    return found
