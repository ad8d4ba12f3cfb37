"""How many of the newest rows show what a metric is now."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from rltui.evidence.clock import worth
from rltui.evidence.effects import noise
from rltui.run.sums import median
from rltui.run.table import Floats

FEW = 5
"""The fewest rows that show a new level, and the fewest before them."""
APART = 4.0
"""Sd of the noise by which the new level differs from the old one: the best of all cuts of a window of
noise reaches 2.5."""


RARE = 1e-3
"""Chance of so many such rows in a row, anywhere in the run, below which they are not an accident."""


def present(x: Floats, rows: float) -> int:
    """How many of the newest points show the present level: a window (`worth`), or only its end if that lies beyond all
    before it. A window averages the noise out. But if it holds a jump or a steep ramp, its median stays at the old
    level for half of the window, so that a fault visible in five rows would be reported after twenty."""
    size = worth(rows, len(x))
    if size < 2 * FEW:
        return size
    part = x[-size:]
    first, last = part[:FEW].tolist(), part[-FEW:].tolist()  # quicker than numpy for so few; runs 30 times a row
    if min(last) > max(first):
        end = _shortest(part)
    elif max(last) < min(first):
        end = _shortest(-part)
    else:
        return size
    if not end or abs(median(part[-end:]) - median(part[:-end])) < APART * noise(x[-2 * size :]):
        return size
    return end


def jumped(x: Floats, rows: float) -> int:
    """The direction from the level before to the present one, if the newest rows alone show it; else 0. A trend shows a
    sudden change only after a good part of the rows that it covers."""
    end = present(x, rows)
    if end == worth(rows, len(x)):
        return 0
    return 1 if x[-1] > x[-end - 1] else -1


def _shortest(part: Floats) -> int:
    """Length of the shortest end of `part` whose values all lie above all before; 0 if there is none."""
    highest = np.maximum.accumulate(part)[FEW - 1 : -FEW]
    lowest = np.minimum.accumulate(part[::-1])[::-1][FEW : 1 - FEW]
    clear = np.flatnonzero(lowest > highest)
    return len(part) - FEW - int(clear[-1]) if len(clear) else 0


def in_a_row(holds: NDArray[np.bool_]) -> int:
    """The number of newest points in all of which something holds, without an exception."""
    others = (~holds).nonzero()[0]
    return len(holds) - 1 - int(others[-1]) if len(others) else len(holds)


def present_share(holds: NDArray[np.bool_], rows: float) -> int:
    """As `present`, for something that holds in a row or not: only the newest rows in which it holds, if the rows
    before make so many in a row all but impossible."""
    n = len(holds)
    size, held = worth(rows, n), in_a_row(holds)
    if not FEW <= held < size:
        return size
    before = n - held
    usual = (int(holds[:before].sum()) + 1) / (before + 1)
    return held if n * usual**held < RARE else size


SURE = 2.0
"""Standard errors by which a share of few rows must lie beyond its limit: with one group it is 0 or 1 each time."""
LEAST_SPREAD = 0.01
"""Rows whose shares hardly differ may hold shares of many groups; at most a hundred are assumed."""


def least_share(shares: Floats | NDArray[np.bool_]) -> float:
    """The least that a share (a number from 0 to 1 in each row) is, within `SURE` errors. The error is Wilson's (1927),
    for which five of five rows are no certainty. Rows that differ by less than all or nothing come from several draws
    each, and count for more in proportion."""
    x: Floats = np.clip(shares, 0.0, 1.0).astype(np.float64)  # a log may hold any number
    share = float(np.add.reduce(x)) / len(x)
    most = share * (1.0 - share)
    spread = float(np.add.reduce((x - share) ** 2)) / len(x) / most if most > 0.0 else 1.0
    drawn = len(x) / min(1.0, max(spread, LEAST_SPREAD))
    half = SURE * sqrt(most / drawn + (0.5 * SURE / drawn) ** 2)
    return (share + 0.5 * SURE**2 / drawn - half) / (1.0 + SURE**2 / drawn)
