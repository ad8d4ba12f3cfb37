"""float32 values as the decimal that was meant: 0.1, not 0.10000000149011612."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

_SMALLEST, _LARGEST = 1e-12, 1e12
"""In between, the powers of ten that scale to nine digits are exact in float64, so a quotient by them is correctly
rounded: it is the float64 next to the decimal."""
_TENS: Floats = np.array([10.0**n for n in range(23)])


def shortest(values: Singles) -> Floats:
    """Each value as the float64 nearest to the shortest decimal that reads back as the same float32, what
    `float(str(numpy.float32(x)))` gives. Infinities and NaN stay.

    Seven digits are tried for all at once, then six, eight and nine for the few that need it; outside 1e-12..1e12
    numpy's own printing decides.
    """
    with np.errstate(invalid="ignore"):  # a signalling NaN
        out = values.astype(np.float64)
    magnitude = np.abs(out)
    plain = (magnitude >= _SMALLEST) & (magnitude <= _LARGEST)
    at = np.flatnonzero(plain)
    exact = out[at]
    singles = values[at]
    exponent = np.floor(np.log10(magnitude[at])).astype(np.int64)
    open_ = np.arange(len(at))
    result = exact.copy()
    for digits in (7, 8, 9):
        tried = _round(exact[open_], digits - 1 - exponent[open_])
        fits = tried.astype(np.float32) == singles[open_]
        result[open_[fits]] = tried[fits]
        if digits == 7:
            done = open_[fits]
            shorter = _round(exact[done], 5 - exponent[done])
            same = shorter.astype(np.float32) == singles[done]
            result[done[same]] = shorter[same]
        open_ = open_[~fits]
        if not len(open_):
            break
    out[at] = result
    for i in np.flatnonzero(~plain & (magnitude > 0) & np.isfinite(magnitude)).tolist():
        out[i] = float(str(values[i]))
    return out


def _round(values: Floats, decimals: NDArray[np.int64]) -> Floats:
    """Values rounded to so many decimals (negative: tens)."""
    up = _TENS[np.minimum(np.maximum(decimals, 0), 22)]  # np.clip takes longer for so few
    down = _TENS[np.minimum(np.maximum(-decimals, 0), 22)]
    rounded: Floats = np.rint(values * up / down) * down / up
    return rounded
