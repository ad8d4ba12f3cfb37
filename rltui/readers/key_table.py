"""Numbers for keys that stand in a byte buffer: the same few keys again and again, found without a Python loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

PAD = 8
"""A buffer has so many bytes after the end of its last key."""
_MASKS: Words = np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)
_PRIME = np.uint64(0x9E3779B97F4A7C15)


class KeyTable:
    """Gives each distinct key a number, counting from 0 in order of appearance."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self._numbers: dict[bytes, int] = {}
        self._hashes: Words = np.zeros(0, dtype=np.uint64)  # of the known keys, sorted
        self._sorted: Ints = np.zeros(0, dtype=np.int64)  # their numbers in that order
        self._words: Words = np.zeros((0, 1), dtype=np.uint64)  # the keys themselves, eight bytes a word

    def number(self, key: bytes) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.keys)
            self.keys.append(key)
        return number

    def numbers(self, buffer: Bytes, starts: Ints, lengths: Ints) -> Ints:
        """The numbers of the keys at `starts`. Keys are compared whole: a hash only finds the candidate."""
        if not len(starts):
            return np.zeros(0, dtype=np.int64)
        words = _words(buffer, starts, lengths)
        hashes = _hash(words)
        found, known = self._find(hashes, words)
        if not known.all():
            unknown = np.flatnonzero(~known)
            _, at = np.unique(hashes[unknown], return_index=True)
            new = unknown[np.sort(at)]
            self._learn([_key(buffer, starts, lengths, i) for i in new.tolist()], hashes[new], [w[new] for w in words])
            found, known = self._find(hashes, words)
            for i in np.flatnonzero(~known).tolist():  # two keys of one hash
                found[i] = self.number(_key(buffer, starts, lengths, i))
        return found

    def _find(self, hashes: Words, words: list[Words]) -> tuple[Ints, NDArray[np.bool_]]:
        if not len(self._hashes):
            return np.zeros(len(hashes), dtype=np.int64), np.zeros(len(hashes), dtype=np.bool_)
        at = np.searchsorted(self._hashes, hashes)
        np.minimum(at, len(self._hashes) - 1, out=at)
        found = self._sorted[at]
        known = self._hashes[at] == hashes
        width = self._words.shape[1]
        for i, word in enumerate(words):
            known &= word == (self._words[found, i] if i < width else 0)
        return found, known

    def _learn(self, keys: list[bytes], hashes: Words, words: list[Words]) -> None:
        fresh = np.flatnonzero(~np.isin(hashes, self._hashes))
        numbers = np.array([self.number(keys[i]) for i in fresh.tolist()], dtype=np.int64)
        grown: Words = np.zeros((len(self.keys), max(self._words.shape[1], len(words))), dtype=np.uint64)
        grown[: self._words.shape[0], : self._words.shape[1]] = self._words
        for i, word in enumerate(words):
            grown[numbers, i] = word[fresh]
        self._words = grown
        together = np.concatenate([self._hashes, hashes[fresh]])
        order = np.argsort(together, kind="stable")
        self._hashes = together[order]
        self._sorted = np.concatenate([self._sorted, numbers])[order]


def _key(buffer: Bytes, starts: Ints, lengths: Ints, i: int) -> bytes:
    return buffer[starts[i] : starts[i] + lengths[i]].tobytes()


def _words(buffer: Bytes, starts: Ints, lengths: Ints) -> list[Words]:
    """The keys as words of equal number: the length, then eight bytes each, zeros after the end."""
    every: Words = np.ndarray((len(buffer) - 7,), dtype="<u8", buffer=buffer, strides=(1,))
    last = len(every) - 1
    words = [lengths.astype(np.uint64), every[starts] & _MASKS[np.minimum(lengths, 8)]]
    for offset in range(8, int(lengths.max()), 8):
        left = np.minimum(np.maximum(lengths - offset, 0), 8)
        words.append(every[np.minimum(starts + offset, last)] & _MASKS[left])
    return words


def _hash(words: list[Words]) -> Words:
    mixed = words[0] * _PRIME
    for word in words[1:]:
        mixed = (mixed ^ word) * _PRIME
        mixed ^= mixed >> np.uint64(32)
    return mixed
