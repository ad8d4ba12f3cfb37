"""How much of a run's files is read: all of it, or no more than the ends."""

from __future__ import annotations

from dataclasses import dataclass

BLOCK = 1 << 15
"""Block size of the logs of W&B and SwanLab: reading can begin at any block."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes read of the beginning and of the end of a file that is larger than `whole_bytes`. `again_bytes`: if the end
    holds no row, so much of it is read at most. `lines`: the lines of a log are kept. `first_rows`: so are the rows of
    the beginning; without them it says only what stands there besides rows (config, banners)."""

    head_bytes: int
    tail_bytes: int
    whole_bytes: int
    again_bytes: int
    lines: bool
    first_rows: bool


ALL = None
"""Every byte."""

ENDS = Extent(1 << 13, 1 << 14, 1 << 16, 1 << 18, lines=False, first_rows=True)
"""A list of many runs: some 3 and 6 rows of 60 metrics of a console log; smaller files are read whole."""

NEWEST = Extent(BLOCK, 1 << 16, 0, 1 << 16, lines=True, first_rows=False)
"""What the screen shows while a long history is read: some 25 rows of 60 metrics."""

WHOLE_MOST = 1 << 22
"""Bytes up to which a file is read whole that cannot be read from its end (packed, a database, one JSON document); of a
larger one nothing is known until all is read."""
