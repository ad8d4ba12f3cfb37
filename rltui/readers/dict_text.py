"""Numbers of a Python dict printed on one line."""

from __future__ import annotations

from rltui.patterns import lazy

_NUMBER = r"[-+]?(?:\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)"
_CELL = lazy(rf"['\"]([^'\"]{{1,300}})['\"]: ?['\"]?(?:np\.\w+\()?({_NUMBER})\)?['\"]?(?=[,}}\s]|$)")


def dict_cells(text: str) -> dict[str, float]:
    """Key to number; what is no number is left out."""
    return {key: float(value.replace(",", "")) for key, value in _CELL.findall(text)}
