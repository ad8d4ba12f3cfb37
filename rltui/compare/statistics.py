"""Rank correlation with its p-value, and false-discovery rates; no more than a comparison of runs needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import permutations
from math import exp, lgamma, log, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXACT_TO = 8
"""Up to so many pairs every permutation is counted (40 320); above, Student's t is close."""

ROUNDING = 1e-12


def ranks(values: Sequence[float]) -> Floats:
    """Ranks from 1; ties share the mean of theirs."""
    array = np.asarray(values, dtype=np.float64)
    _, inverse, counts = np.unique(array, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    means: Floats = (ends - (counts - 1) / 2)[inverse]
    return means


def spearman(x: Sequence[float], y: Sequence[float]) -> tuple[float, float] | None:
    """Spearman's rho (Pearson's r of mid-ranks, so that ties are right) and its two-sided p.

    p is exact, by all permutations, up to `EXACT_TO` pairs; above it is that of t = rho sqrt((n-2) / (1-rho²)) with
    n-2 degrees of freedom (Kendall & Stuart, The Advanced Theory of Statistics, vol. 2, §31.19). None where one side
    is constant or there are fewer than three pairs.
    """
    n = len(x)
    if n < 3:
        return None
    a, b = ranks(x), ranks(y)
    a, b = a - a.mean(), b - b.mean()
    scale = sqrt(float(a @ a) * float(b @ b))
    if scale == 0:
        return None
    rho = max(-1.0, min(1.0, float(a @ b) / scale))
    if n <= EXACT_TO:
        all_rhos = (b[_orders(n)] @ a) / scale
        return rho, float((np.abs(all_rhos) >= abs(rho) - ROUNDING).mean())
    if 1 - rho * rho <= ROUNDING:
        return rho, 0.0
    return rho, two_sided_t(rho * sqrt((n - 2) / (1 - rho * rho)), n - 2)


@cache
def _orders(n: int) -> NDArray[np.int8]:
    return np.array(list(permutations(range(n))), dtype=np.int8)


def two_sided_t(t: float, df: int) -> float:
    """P(|T| >= |t|) of Student's t: the regularised incomplete beta function I_x(df/2, 1/2) at x = df / (df + t²)."""
    return _beta_share(df / 2, 0.5, df / (df + t * t))


def _beta_share(a: float, b: float, x: float) -> float:
    """I_x(a, b) by Lentz's continued fraction (Press et al., Numerical Recipes, 3rd ed., §6.4)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x))
    if x > (a + 1) / (a + b + 2):
        return 1 - front * _fraction(b, a, 1 - x) / b
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    tiny = 1e-300
    c = 1.0
    d = 1 / (1 - (a + b) * x / (a + 1) or tiny)
    h = d
    for m in range(1, 300):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            h *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return h


def false_discovery_rates(p_values: Sequence[float]) -> list[float]:
    """Benjamini & Hochberg (1995): for each p the least share of false discoveries at which it still counts."""
    m = len(p_values)
    order = sorted(range(m), key=lambda i: p_values[i], reverse=True)
    out, lowest = [1.0] * m, 1.0
    for place, i in enumerate(order):
        lowest = min(lowest, p_values[i] * m / (m - place))
        out[i] = lowest
    return out
