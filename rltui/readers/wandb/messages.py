"""History messages side by side in one buffer, found among the records of a log without a Python loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rltui.readers.base import NO_STEP

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]

PAD = 272
"""Bytes behind the last message: the farthest that a length byte and a slot can point."""
_LONGEST_VARINT = 5


@dataclass(slots=True)
class Messages:
    """From `starts` to `ends` of a buffer that goes on for PAD bytes behind the last one."""

    buffer: Bytes
    starts: Ints
    ends: Ints

    @classmethod
    def joined(cls, messages: list[bytes]) -> Messages:
        ends = np.cumsum(np.fromiter(map(len, messages), dtype=np.int64, count=len(messages)))
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1]
        return cls(np.frombuffer(b"".join([*messages, bytes(PAD)]), dtype=np.uint8), starts, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, some: slice | Ints) -> Messages:
        return Messages(self.buffer, self.starts[some], self.ends[some])

    def each(self) -> list[bytes]:
        return [self.message(i) for i in range(len(self))]

    def message(self, i: int) -> bytes:
        return self.buffer[self.starts[i] : self.ends[i]].tobytes()


def in_records(records: list[bytes], tag: int) -> tuple[Messages, Ints]:
    """The messages of the records of the usual shape, `08 NUMBER TAG LENGTH message`, and the numbers of the others."""
    every = Messages.joined(records)
    b, at = every.buffer, every.starts
    usual = (b[at] == 8) & (every.ends - at < 1 << 28)
    _, at, numbered = _varints(b, at + 1)
    length, start, sized = _varints(b, at + 1)
    usual &= numbered & sized & (b[at] == tag) & (start + length == every.ends)
    return Messages(b, start[usual], every.ends[usual]), np.flatnonzero(~usual)


def steps_at_end(messages: Messages) -> tuple[Ints, Ints]:
    """Where the items of each message end and the step `12 LENGTH 08 STEP` that stands behind them. NO_STEP where the
    end is of another shape: then it is left where it was."""
    b, starts, ends = messages.buffer, messages.starts, messages.ends
    steps = np.full(len(ends), NO_STEP)
    items = ends.copy()
    zero = (ends - starts >= 2) & (b[ends - 2] == 0x12) & (b[ends - 1] == 0)
    for length in range(2 + _LONGEST_VARINT, 1, -1):  # the shortest that fits wins
        at = np.maximum(ends - length - 2, 0)
        fits = (at >= starts) & (b[at] == 0x12) & (b[at + 1] == length) & (b[at + 2] == 8)
        if not fits.any():
            continue
        step, end, whole = _varints(b, at + 3)
        fits &= whole & (end == ends)
        steps[fits], items[fits] = step[fits], at[fits]
    steps[zero], items[zero] = 0, ends[zero] - 2
    return items, steps


def _varints(b: Bytes, at: Ints) -> tuple[Ints, Ints, Bools]:
    """The varint at each place, the place behind it, and whether it ends within five bytes."""
    at = at.copy()
    values = np.zeros_like(at)
    going = np.ones(len(at), dtype=np.bool_)
    for shift in range(0, 7 * _LONGEST_VARINT, 7):
        byte = b[at].astype(np.int64)
        values |= np.where(going, (byte & 127) << shift, 0)
        at += going
        going &= byte > 127
        if not going.any():
            break
    return values, at, ~going
