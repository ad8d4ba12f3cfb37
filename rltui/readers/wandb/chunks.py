"""The chunks of many blocks of a LevelDB log, found side by side: each block begins with a chunk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

BLOCK = 32768
HEADER = 7  # bytes of the file header, and also of a chunk header
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
_LONGEST_NUMBER = 5
_HEAD = np.dtype([("crc", "<u4"), ("length", "<u2"), ("kind", "u1")])

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def of_blocks(buffer: bytes, begin: int, count: int, unwanted: int | None) -> Iterator[tuple[int, int, int, int, bool]]:
    """Position, checksum, length and kind of the chunks of `count` blocks from `begin` on, in order; and whether the
    chunk can be one: the rest of its block is left out where not.

    Whole records whose tag is `unwanted` (see `begins_with`) are left out where they stand between whole records.
    """
    b = np.frombuffer(buffer, dtype=np.uint8)
    heads = np.ndarray((len(b) - HEADER + 1,), dtype=_HEAD, buffer=buffer, strides=(1,))
    at: Ints = begin + BLOCK * np.arange(count)
    ends = at + BLOCK
    places, found, fitting = [], [], []
    while len(at):
        head = heads[at]
        after = at + HEADER + head["length"]
        fits = (head["kind"] - np.uint8(WHOLE) <= LAST - WHOLE) & (after <= ends)
        places.append(at)
        found.append(head)
        fitting.append(fits)
        more = np.flatnonzero(fits & (after <= ends - HEADER))
        at, ends = after[more], ends[more]
    order = np.argsort(np.concatenate(places))
    place, head, fits = (np.concatenate(parts)[order] for parts in (places, found, fitting))
    if unwanted is not None:
        whole = head["kind"] == WHOLE
        between = np.zeros(len(place), dtype=np.bool_)
        between[1:-1] = whole[:-2] & whole[2:]
        whole = np.flatnonzero(whole & between & fits & (head["length"] > 8))
        needed = np.ones(len(place), dtype=np.bool_)
        needed[whole[_all_begin_with(b, place[whole] + HEADER, unwanted)]] = False
        place, head, fits = place[needed], head[needed], fits[needed]
    return zip(
        place.tolist(),
        *(head[name].tolist() for name in ("crc", "length", "kind")),
        fits.tolist(),
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


def _all_begin_with(b: Bytes, starts: Ints, tag: int) -> NDArray[np.bool_]:
    """The same of many records of more than 8 bytes; false for some with a number that no file reaches."""
    at = starts + 1
    for _ in range(_LONGEST_NUMBER - 1):
        at += b[at] > 127
    found: NDArray[np.bool_] = (b[starts] == 8) & (b[at] < 128) & (b[at + 1] == tag)
    return found
