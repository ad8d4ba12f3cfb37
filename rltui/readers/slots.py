"""Short texts of many lengths out of a byte buffer into slots of one length, so that arrays can work on them.

The cost of numpy's indexing is in the items, not in their size: a slot of 32 bytes is copied as quickly as one byte.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

WORD = 8
"""Bytes of a word. A buffer must go on for the slots' length behind the last place where one begins."""

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
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
