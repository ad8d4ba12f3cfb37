"""How numbers are written: three significant digits, a true minus sign, an exponent only if very small or large.

A missing value is never 0: functions with `missing` take None and NaN, and return that word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import floor, isfinite, log10

MINUS = "−"
NOT_LOGGED = "not logged"
NOT_AVAILABLE = "n/a"
TIMES_FROM = 1.5  # a rise by this factor or more is written as a multiple, a smaller one in percent

_LARGE = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_KILO_FROM = 9_995.0  # 1442 and 9990 are written out, then comes 10.0k
_EXPONENT_BELOW = 1e-4  # smaller ones are learning rates, which people and configs write as 3e-5


def _minus(text: str) -> str:
    return MINUS + text[1:] if text.startswith("-") else text


def _decimals(magnitude: float) -> int:
    """Decimals that give three significant digits from 0.1 on, two below."""
    if magnitude >= 99.95:
        return 0
    if magnitude >= 9.995:
        return 1
    if magnitude >= 0.9995:
        return 2
    if magnitude >= 0.00995 or magnitude == 0:
        return 3
    return min(6, 1 - floor(log10(magnitude)))


def number(value: float | None, *, decimals: int | None = None, sign: bool = False, missing: str = NOT_LOGGED) -> str:
    """`0.0041`, `0.208`, `29.9`, `812`, `1442`, `12.8k`. `decimals` sets the number of decimals (see
    `fixed_decimals`)."""
    if value is None or value != value:
        return missing
    if not isfinite(value):
        return ("+" if sign and value > 0 else "" if value > 0 else MINUS) + "∞"
    size = abs(value)
    if size >= _KILO_FROM:
        scale, suffix = next((s, u) for s, u in _LARGE if size >= s * 0.9995 or u == "k")
        scaled = value / scale
        if abs(scaled) >= 9_995:
            text = f"{value:.2e}".replace("e+", "e")
        else:
            text = f"{scaled:.{min(_decimals(abs(scaled)), 2)}f}{suffix}"
    elif decimals is not None:
        text = f"{value:.{decimals}f}"
    elif 0 < size < _EXPONENT_BELOW:
        mantissa, exponent = f"{value:.1e}".split("e")
        text = f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    else:
        text = f"{value:.{_decimals(size)}f}"
    if text.startswith("-") and not text.strip("-0."):
        text = text[1:]  # -0.0004 at three decimals is 0.000, not −0.000
    text = _minus(text)
    return f"+{text}" if sign and value > 0 else text


def fixed_decimals(values: Sequence[float]) -> int:
    """Decimals for a metric while it is on screen, so that its width is steady: those of its median magnitude.

    `values` is any sequence or array; at most about a thousand evenly spaced ones are looked at.
    """
    stride = max(1, len(values) // 1000)
    sizes = sorted(abs(float(v)) for v in values[::stride] if isfinite(v) and v != 0)
    return _decimals(sizes[len(sizes) // 2]) if sizes else 3


def integer(value: int | None, *, missing: str = NOT_LOGGED) -> str:
    """Steps and counts: no separator below 10 000, groups of three from there on."""
    if value is None:
        return missing
    return _minus(f"{value}" if abs(value) < 10_000 else f"{value:,}".replace(",", " "))


def shorn(text: str) -> str:
    """A number as sentences write it: `0.5` for `0.500`, `12k` for `12.0k`, `8` for `8.00`, `1.2e20` for `1.20e20`."""
    whole, point, rest = text.partition(".")
    if not point:
        return text
    behind = rest.lstrip("0123456789")
    decimals = rest[: len(rest) - len(behind)].rstrip("0")
    return f"{whole}.{decimals}{behind}" if decimals else whole + behind


def points(share: float | None, *, sign: bool = False, missing: str = NOT_LOGGED) -> str:
    """A fraction in percent, without the sign: `71`, `3.4`, `0.04`."""
    if share is None or share != share:
        return missing
    value = 100 * share
    size = abs(value)
    if 0 < size < 0.005:
        return number(value, sign=sign)
    return number(value, decimals=0 if size >= 9.95 or size == 0 else 1 if size >= 0.95 else 2, sign=sign)


def percent(share: float | None, *, sign: bool = False, missing: str = NOT_LOGGED) -> str:
    """A fraction as percent: `71 %`, `3.4 %`, `0.04 %`."""
    return missing if share is None or share != share else f"{points(share, sign=sign)} %"


UNMOVED = "→"


def change(first: float | None, last: float | None) -> str:
    """From first to last: `4.8×` from 1.5-fold on, else `+38 %`; `→` if nothing moved.

    A ratio needs a positive base. From zero, and from or to a value below zero, it is the difference (`+0.005`). A fall
    that leaves anything is never rounded to −100 %: it is `−99.9 %`.
    """
    if first is None or last is None or not isfinite(first) or not isfinite(last):
        return ""
    if first == last:
        return UNMOVED
    if first <= 0 or last < 0:
        return number(last - first, sign=True)
    ratio = last / first
    if not isfinite(ratio):
        return number(last - first, sign=True)
    if ratio >= TIMES_FROM:
        return f"{ratio:.1f}×" if ratio < 99.95 else f"{number(ratio)}×"
    points = round(100 * (ratio - 1))
    if points == 0:
        return UNMOVED
    if points == -100 and last > 0:
        return f"{MINUS}{min(99.9, floor(1000 * (1 - ratio)) / 10):.1f} %"
    return _minus(f"{points:+d} %")


def duration(seconds: float | None, *, missing: str = NOT_LOGGED) -> str:
    """`0.4 s`, `192 s`, `14 m`, `9 h 12 m`, `2 d 15 h`."""
    if seconds is None or not isfinite(seconds):
        return missing
    sign, seconds = (MINUS if seconds < 0 else ""), abs(seconds)
    if seconds < 9.95:
        return f"{sign}{seconds:.1f} s" if seconds else "0 s"
    if round(seconds) < 600:
        return f"{sign}{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{sign}{minutes} m"
    if minutes < 24 * 60:
        return f"{sign}{minutes // 60} h {minutes % 60} m"
    hours = round(seconds / 3600)
    return f"{sign}{hours // 24} d {hours % 24} h"


def size(gigabytes: float | None, *, missing: str = NOT_AVAILABLE) -> str:
    """Decimal units from GB: `512 MB`, `71.2 GB`, `5.20 TB`."""
    if gigabytes is None or not isfinite(gigabytes):
        return missing
    amount = abs(gigabytes)
    if amount >= 999.5:
        return f"{number(gigabytes / 1000)} TB"
    if amount >= 0.9995 or amount == 0:
        return f"{number(gigabytes, decimals=0 if amount == 0 else None)} GB"
    if amount >= 0.0009995:
        return f"{number(gigabytes * 1000)} MB"
    return f"{number(gigabytes * 1e6)} kB"


def unpadded(text: str) -> str:
    """`1e-8` for `1e-08`: a config setting, with its exponent written as in all numbers here."""
    return _PADDED.sub(r"\1", text)


def setting_value(value: object) -> str:
    """The value of a setting as a text shows it: a number with the minus sign of all numbers here."""
    text = unpadded(f"{value:g}" if isinstance(value, float) else str(value))
    return MINUS + text[1:] if isinstance(value, int | float) and value < 0 else text


_PADDED = re.compile(r"(?<=\de[-+])0+(\d)")
