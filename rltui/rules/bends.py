"""How much better a course that rises or holds, then turns and falls, fits than one that never falls."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from rltui.run.table import Floats, Ints

LEAST = 5
"""Fewest points of the fall, or an eighth (`PART`) of all points: fewer are noise at the end."""
PART = 8
FREE = 6
"""Degrees of freedom that the fit of such a course uses up."""
SHORT = 4.0
"""The correlation of neighbouring residuals seems too small by this over their number (simulated)."""
MOST_CARRIED = 0.8


class Bend(NamedTuple):
    """`at`: index of the last point before the fall. `gain`: by how much the sum of squares is smaller than that of the
    best course that never falls, in squares of the noise `sd` (which includes its autocorrelation)."""

    at: int
    gain: float
    sd: float


def bend(x: Floats, noise: float) -> Bend | None:
    """The best turn: any rise before it, a straight line down after it. None if no such course fits better. `noise`:
    the least noise of a point; the residuals may show more."""
    n = len(x)
    x = x - x.mean()
    rises = _rising(x)
    turns = np.arange(2, n - max(LEAST, n // PART) + 1)
    if not len(turns):
        return None
    both = rises[turns] + _falling(x, turns)
    i = int(both.argmin())
    if not np.isfinite(both[i]) or both[i] >= rises[n]:
        return None
    k = int(turns[i])
    left = np.concatenate((x[:k] - _fit(x[:k]), _off_line(x[k:])))
    squares = float((left * left).sum())
    alike = float((left[1:] * left[:-1]).sum()) / squares if squares > 0.0 else 0.0
    rho = min(MOST_CARRIED, max(0.0, alike + SHORT / n))
    sd = max(noise, sqrt(squares / max(1, n - FREE))) * sqrt((1.0 + rho) / (1.0 - rho))
    return Bend(k - 1, float(rises[n] - both[i]) / sd**2, sd) if sd > 0.0 else None


def _pooled(x: Floats) -> tuple[Floats, list[tuple[float, int, float]]]:
    """Pool adjacent violators. Returns, for each beginning of the points, the sum of squares about the best course that
    never falls; and the pools of all points, as sum, count and squares."""
    out, pools, total = [0.0], list[tuple[float, int, float]](), 0.0
    for value in x:
        s, n, q = float(value), 1, 0.0
        while pools and pools[-1][0] * n >= s * pools[-1][1]:
            before, m, squares = pools.pop()
            apart = before / m - s / n
            total -= squares
            s, q, n = s + before, q + squares + apart * apart * m * n / (m + n), n + m
        pools.append((s, n, q))
        total += q
        out.append(total)
    return np.array(out), pools


def _rising(x: Floats) -> Floats:
    return _pooled(x)[0]


def _fit(x: Floats) -> Floats:
    return np.concatenate([np.full(n, s / n) for s, n, _ in _pooled(x)[1]])


def _falling(x: Floats, turns: Ints) -> Floats:
    """The sum of squares about the line through the points from each turn on; infinite if that line rises."""
    t = np.arange(len(x), dtype=np.float64)
    sums = [np.concatenate(([0.0], np.cumsum(one))) for one in (x, x * x, t, t * t, t * x)]
    sx, sxx, st, stt, stx = (one[-1] - one[turns] for one in sums)
    m = len(x) - turns
    along, ways, all_of_it = stx - st * sx / m, stt - st * st / m, sxx - sx * sx / m
    return np.where(along < 0.0, all_of_it - along * along / ways, np.inf)


def _off_line(x: Floats) -> Floats:
    t = np.arange(len(x)) - (len(x) - 1) / 2.0
    return np.asarray(x - x.mean() - float((x * t).sum()) / float((t * t).sum()) * t)
