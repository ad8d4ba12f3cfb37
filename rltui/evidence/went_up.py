"""A metric that went from one level to another within few rows and stays there: what grows little by little does not."""

from __future__ import annotations

import numpy as np

from rltui.evidence.shifts import NEAR
from rltui.run.sums import column_medians, median
from rltui.run.table import Floats

LOW, BETWEEN, RECENT = 2, 3, 40
"""Blocks of rows before that have to be low, blocks that it may take to go up, and newest blocks that are searched."""
LEAST_ROWS = (LOW + BETWEEN + 1) * NEAR


def went_up(x: Floats, low: float) -> tuple[int, float] | None:
    """The first point behind the newest blocks that are low, if it took few blocks to go from there to where they all
    are twice as high, and the level of those blocks."""
    x = x[-RECENT * NEAR :] if len(x) > RECENT * NEAR else x[len(x) % NEAR :]
    levels = column_medians(x.reshape(-1, NEAR).T)
    under = np.flatnonzero(levels <= low)
    if not len(under):
        return None
    last = int(under[-1])
    high = np.flatnonzero(levels >= 2.0 * low)
    first = high[high > last]
    if last < LOW - 1 or not (levels[last + 1 - LOW : last + 1] <= low).all() or not len(first):
        return None
    if first[0] - last > BETWEEN or not (levels[first[0] :] >= 2.0 * low).all():
        return None
    at = (last + 1) * NEAR
    return at - len(x), median(x[max(0, at - 2 * LOW * NEAR) : at])
