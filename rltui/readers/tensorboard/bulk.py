"""TensorBoard events with one float scalar, many at once.

Such an event is `09 wall_time(8) [10 step] 2a LEN 0a LEN 0a LEN tag 15 value(4)`: what SummaryWriter.add_scalar writes.
An event is taken so only if all its lengths fit together; every other one is left to the decoder that goes field by
field.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rltui.readers.key_table import KeyTable

Ints = NDArray[np.int64]

PAD = 160
"""A buffer has so many bytes behind its last event: the longest that is taken."""
_LONGEST_STEP = 5


@dataclass(slots=True)
class Scalars:
    """Of the events numbered `events`: wall time (s), step, number of the tag, value."""

    events: Ints
    times: NDArray[np.float64]
    steps: Ints
    tags: Ints
    values: NDArray[np.float32]


def decode(b: NDArray[np.uint8], starts: Ints, lengths: Ints, table: KeyTable) -> Scalars:
    """The scalars among the events at `starts`. `b` is the buffer, padded."""
    fits = (lengths >= 20) & (lengths < 160)
    at = np.where(fits, starts, 0)
    end = np.where(fits, starts + lengths, 0)
    fits &= b[at] == 0x09
    pos = at + 9
    stated = b[pos] == 0x10
    pos = pos + stated
    steps: Ints = np.zeros(len(at), dtype=np.int64)
    going = stated.copy()
    for shift in range(0, 7 * _LONGEST_STEP, 7):
        byte = b[pos].astype(np.int64)
        steps |= np.where(going, (byte & 127) << shift, 0)
        pos = pos + going
        going &= byte > 127
        if not going.any():
            break
    fits &= ~going & (b[pos] == 0x2A) & (b[pos + 2] == 0x0A) & (b[pos + 4] == 0x0A)
    summary, value, tag = (b[pos + n].astype(np.int64) for n in (1, 3, 5))
    fits &= (pos + 2 + summary == end) & (pos + 4 + value == end) & (pos + 6 + tag + 5 == end)
    fits &= (summary < 128) & (b[end - 5] == 0x15)
    kept = np.flatnonzero(fits)
    at, end, pos, tag = at[kept], end[kept], pos[kept], tag[kept]
    doubles = np.ndarray((len(b) - 7,), dtype="<f8", buffer=b, strides=(1,))
    singles = np.ndarray((len(b) - 3,), dtype="<f4", buffer=b, strides=(1,))
    return Scalars(
        events=kept,
        times=doubles[at + 1],
        steps=steps[kept],
        tags=table.numbers(b, pos + 6, tag),
        values=singles[end - 4],
    )
