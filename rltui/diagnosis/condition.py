"""Conditions on a config value, written as data: `{"op": ">", "value": 1}`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

NUMBERS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
SETS = ("in", "not in")


@dataclass(frozen=True, slots=True)
class Condition:
    """`op` compares a number, or asks whether a value is among several; words compare without case."""

    op: str
    value: object

    def holds(self, value: object) -> bool | None:
        """None where the value cannot be compared, as a word with a number."""
        if self.op in SETS:
            assert isinstance(self.value, list)
            inside = any(_plain(value) == _plain(wanted) for wanted in self.value)
            return inside == (self.op == "in")
        number = _number(value)
        return None if number is None else NUMBERS[self.op](number, float(str(self.value)))


def condition(raw: object) -> Condition | None:
    """From the catalogue's data; None where there is none. Raises ValueError for an unknown operator."""
    if raw is None:
        return None
    assert isinstance(raw, dict)
    if raw["op"] not in NUMBERS and raw["op"] not in SETS:
        raise ValueError(f"unknown operator: {raw['op']}")
    return Condition(str(raw["op"]), raw["value"])


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(str(value))
    except ValueError:
        return None


def _plain(value: object) -> object:
    number = _number(value)
    return str(value).lower() if number is None else number
