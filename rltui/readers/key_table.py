"""Numbers for keys that stand in a byte buffer: the same few keys again and again, found without a Python loop."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from rltui.readers.slots import WORD, masks, slots

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_MOST_BITS = 14
"""A table of so many places stays in the processor's nearer caches."""


class KeyTable:
    """Gives each distinct key a number, counting from 0 in order of appearance.

    Keys in a buffer are told apart by 64 bits of hash: that two of the thousand keys of a run share them has a chance
    of one in 10^13, far less than what the checksums of the files let pass.
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
        """The numbers of the keys at `starts`. A buffer goes on behind its last key as `slots` wants it."""
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
        """Where in `_hashes` they are; behind its end those that are not."""
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
    """A guess where in a sorted list a hash is, by its first bits: wrong for a few where the list is long."""

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
    """Odd numbers without a pattern, the same ones always (splitmix64): their sum of products is a universal hash."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ mixed >> np.uint64(shift)) * np.uint64(factor)
    return mixed ^ mixed >> np.uint64(31) | np.uint64(1)
