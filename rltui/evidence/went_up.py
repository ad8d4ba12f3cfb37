"""Finds a metric that went from one level to another within few rows and stays there, unlike one that grows
gradually."""

from __future__ import annotations

import numpy as np

from rltui.evidence.shifts import NEAR
from rltui.run.sums import column_medians, median
from rltui.run.table import Floats

LOW, BETWEEN, RECENT = 2, 3, 40
"""Blocks of rows before that have to be low, the most blocks that the rise may take, and the newest blocks that are
searched."""
LEAST_ROWS = (LOW + BETWEEN + 1) * NEAR


NEARLY, STAYS = 0.8, 0.4
"""Shares of the level now: one block during the rise has to reach the first, and all blocks since must hold
the second."""


def went_up(x: Floats, now: float, times: float) -> tuple[int, float] | None:
    """The first point of the rise (counted from the end), and the level of the blocks before it. These blocks lie below
    the level of now by the factor `times`. None unless it took few blocks from there to that level."""
    x = x[-RECENT * NEAR :] if len(x) > RECENT * NEAR else x[len(x) % NEAR :]
    levels = column_medians(x.reshape(-1, NEAR).T)
    under = np.flatnonzero(levels <= now / times)
    last = int(under[-1]) if len(under) else -1
    if last < LOW - 1 or not (levels[last + 1 - LOW : last + 1] <= now / times).all():
        return None
    since = levels[last + 1 :]
    if not (since[:BETWEEN] >= NEARLY * now).any() or not (since[BETWEEN:] >= STAYS * now).all():
        return None
    at = (last + 1) * NEAR
    return at - len(x), median(x[max(0, at - 2 * LOW * NEAR) : at])
