"""Numbers as they are written: what they say, and whether they are a rounding of a value."""

from __future__ import annotations

import re

from rltui.plots.numbers import MINUS

WRITTEN = r"[+−-]?(?:\d+(?:\.\d+)?(?:e[−-]?\d+)?[kMGTP]?|∞)"
SUFFIX = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_NUMBER = re.compile(r"^([+-]?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?([kMGTP]?)$")


def read(text: str) -> tuple[float, float] | None:
    """(value, half a unit of its last digit) of a written number; None if it is none."""
    plain = text.strip().replace(MINUS, "-")
    found = _NUMBER.match(plain)
    if found is None:
        return None
    sign, whole, part, exponent, suffix = found.groups()
    scale = 10.0 ** int(exponent or 0) * SUFFIX.get(suffix, 1.0)
    value = float(f"{whole}.{part or 0}") * scale
    return (-value if sign == "-" else value), 0.5 * 10.0 ** -len(part or "") * scale


def rounds(text: str, value: float | None, scale: float = 1.0) -> bool:
    """Whether the written number is a rounding of the value (in units of 1/scale). JSON keeps six digits, and zeros at
    the end may be left out."""
    found = read(text)
    if found is None or value is None:
        return found is None and value is None
    said, half = found
    return abs(said - scale * value) <= half * 1.02 + 1e-5 * abs(said) + 1e-12


def any_of(text: str, value: float | None, scale: float = 1.0) -> bool:
    """Whether the text holds a number that is a rounding of the value."""
    return any(rounds(found, value, scale) for found in re.findall(WRITTEN, text))
