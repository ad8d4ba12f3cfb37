"""Handles short texts in a byte buffer as arrays: in slots of one length, parsed as numbers, or numbered as keys.

The cost of numpy's indexing depends on the number of items, not on their size: a slot of 32 bytes is copied as quickly
as one byte.
"""

from __future__ import annotations

import struct
from functools import cache

import numpy as np
import orjson
from numpy.typing import NDArray

from rltui.readers.literals import NONFINITE

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

WORD = 8
"""The bytes of a word. From the start of the last slot on, the buffer must have at least the length of a slot."""

TOGETHER = 1 << 12
"""How many numbers are parsed together: few enough to stay in the processor's cache as objects."""


def slots(buffer: Bytes, starts: Ints, words: int) -> Words:
    """The bytes of `buffer` from each start on, shape (starts, words)."""
    size = WORD * words
    every = np.ndarray((max(0, len(buffer) - size + 1),), dtype=f"V{size}", buffer=buffer, strides=(1,))
    found: Words = every[starts].view("<u8").reshape(-1, words)
    return found


@cache
def masks(words: int) -> Words:
    """For each length: a slot with all bits set in that many bytes, and none after them."""
    size = WORD * words
    lengths = np.arange(size + 1)[:, None]
    filled = np.where(np.arange(size) < lengths, 255, 0).astype(np.uint8)
    return filled.view("<u8")


@cache
def separators(words: int) -> Words:
    """For each length: a slot with that many zero bytes, then a comma, then spaces."""
    size = WORD * words
    lengths, at = np.arange(size)[:, None], np.arange(size)
    filled = np.where(at == lengths, ord(","), np.where(at > lengths, ord(" "), 0)).astype(np.uint8)
    return filled.view("<u8")


def parsed(b: Bytes, starts: Ints, sizes: Ints) -> Floats | None:
    """The numbers of JSON texts that begin with a digit or a minus; None if one of them is not a number. A number too
    large for a float is NONFINITE.

    The texts are joined to JSON arrays. If an array has as many elements as texts, each text is one number.
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


_MOST_BITS = 14
"""A table with this many index bits stays in the processor's nearer caches."""


class KeyTable:
    """Gives each distinct key a number, counting from 0 in order of appearance.

    Keys in a buffer are distinguished by a hash of 64 bits. The chance that two of the thousand keys of a run share a
    hash is one in 10^13, far below the errors that the files' checksums miss.
    """

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self._numbers: dict[bytes, int] = {}
        self._hashes: Words = np.zeros(0, dtype=np.uint64)  # of the keys met in a buffer, sorted
        self._sorted: Ints = np.zeros(0, dtype=np.int64)  # their numbers in that order
        self._first = _FirstBits(self._hashes)

    def number(self, key: bytes) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.keys)
            self.keys.append(key)
        return number

    def numbers(self, buffer: Bytes, starts: Ints, lengths: Ints) -> Ints:
        """The numbers of the keys at `starts`. The buffer must have as many bytes after its last key as `slots`
        needs."""
        if not len(starts):
            return np.zeros(0, dtype=np.int64)
        hashes = _hashes(buffer, starts, lengths)
        at = self._places(hashes)
        unknown = np.flatnonzero(at == len(self._hashes))
        if len(unknown):
            first = np.sort(unknown[np.unique(hashes[unknown], return_index=True)[1]])
            self._learn([buffer[starts[i] : starts[i] + lengths[i]].tobytes() for i in first.tolist()], hashes[first])
            at = self._places(hashes)
        return self._sorted[at]

    def _places(self, hashes: Words) -> Ints:
        """The indices of these hashes in `_hashes`; `len(_hashes)` for unknown hashes."""
        if not len(self._hashes):
            return np.zeros(len(hashes), dtype=np.int64)
        at = self._first.places(hashes)
        missed = np.flatnonzero(self._hashes.take(at) != hashes)
        if len(missed):
            some = hashes[missed]
            found = np.minimum(np.searchsorted(self._hashes, some), len(self._hashes) - 1)
            at[missed] = np.where(self._hashes[found] == some, found, len(self._hashes))
        return at

    def _learn(self, keys: list[bytes], hashes: Words) -> None:
        numbers = np.array([self.number(key) for key in keys], dtype=np.int64)
        known = np.concatenate([self._hashes, hashes])
        order = np.argsort(known, kind="stable")
        self._hashes = known[order]
        self._sorted = np.concatenate([self._sorted, numbers])[order]
        self._first = _FirstBits(self._hashes)


class _FirstBits:
    """Guesses the place of a hash in a sorted list by its first bits. A few guesses are wrong if the list is long."""

    def __init__(self, known: Words) -> None:
        bits = min(_MOST_BITS, 2 * len(known).bit_length() + 2)
        self._shift = np.uint64(64 - bits)
        self._places: Ints = np.zeros(1 << bits, dtype=np.int64)
        self._places[known >> self._shift] = np.arange(len(known))

    def places(self, hashes: Words) -> Ints:
        return self._places.take((hashes >> self._shift).view(np.int64))


def _hashes(buffer: Bytes, starts: Ints, lengths: Ints) -> Words:
    words = -(-int(lengths.max()) // WORD) or 1
    keys = slots(buffer, starts, words)
    keys &= masks(words).take(lengths, axis=0)
    factors = _factors(words + 1)
    hashes = lengths.astype(np.uint64)
    hashes *= factors[0]
    for i in range(words):
        hashes += keys[:, i] * factors[i + 1]
    return hashes


@cache
def _factors(count: int) -> Words:
    """Odd numbers without a pattern, always the same (splitmix64). The sum of products with them is a universal
    hash."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ mixed >> np.uint64(shift)) * np.uint64(factor)
    return mixed ^ mixed >> np.uint64(31) | np.uint64(1)
