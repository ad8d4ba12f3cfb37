"""Short texts of many lengths out of a byte buffer into slots of one length, so that arrays can work on them.

The cost of numpy's indexing is in the items, not in their size: a slot of 32 bytes is copied as quickly as one byte.
"""

from __future__ import annotations

import struct
from functools import cache

import numpy as np
import orjson
from numpy.typing import NDArray

from rltui.readers.json_number import NONFINITE

WORD = 8
"""Bytes of a word. A buffer must go on for the slots' length behind the last place where one begins."""

TOGETHER = 1 << 12
"""Numbers that are parsed together: they stay in the processor's cache as objects."""

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]


def slots(buffer: Bytes, starts: Ints, words: int) -> Words:
    """The bytes of `buffer` from each start on: starts by `words` words."""
    size = WORD * words
    every = np.ndarray((max(0, len(buffer) - size + 1),), dtype=f"V{size}", buffer=buffer, strides=(1,))
    found: Words = every[starts].view("<u8").reshape(-1, words)
    return found


@cache
def masks(words: int) -> Words:
    """By length: a slot with all bits set for so many bytes, and none behind them."""
    size = WORD * words
    lengths = np.arange(size + 1)[:, None]
    filled = np.where(np.arange(size) < lengths, 255, 0).astype(np.uint8)
    return filled.view("<u8")


@cache
def separators(words: int) -> Words:
    """By length: a slot with nothing for so many bytes, then a comma, then spaces."""
    size = WORD * words
    lengths, at = np.arange(size)[:, None], np.arange(size)
    filled = np.where(at == lengths, ord(","), np.where(at > lengths, ord(" "), 0)).astype(np.uint8)
    return filled.view("<u8")


def parsed(b: Bytes, starts: Ints, sizes: Ints) -> Floats | None:
    """JSON texts that begin with a digit or a minus, parsed at once; None where one of them is no number. What is
    beyond the floats is NONFINITE.

    They are set side by side as JSON arrays; if one parses to as many elements as there are texts, each text is one
    number.
    """
    if not len(starts):
        return np.zeros(0)
    words = int(sizes.max()) // WORD + 1
    texts = slots(b, starts, words)
    texts &= masks(words).take(sizes, axis=0)
    texts |= separators(words).take(sizes, axis=0)
    packed = []
    for at in range(0, len(texts), TOGETHER):
        some = texts[at : at + TOGETHER]
        try:
            found = orjson.loads(bytearray(b"[") + some.tobytes().rstrip(b", ") + b"]")
            packed.append(struct.pack(f"{len(some)}d", *found))  # far quicker than numpy
        except (ValueError, OverflowError, struct.error):
            return None
    numbers: Floats = np.frombuffer(bytearray().join(packed))
    numbers[~np.isfinite(numbers)] = NONFINITE
    return numbers
