"""How rule pages write comparisons: with numbers or sets, and what "not met" means."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from msgspec import Meta

Words = Annotated[str, Meta(min_length=1)]
Unmet = Literal["contradicts", "open"]

NUMBERS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
SETS = ("in", "not in")
Bound = Literal[">", ">=", "<", "<="]


def as_number(value: object) -> float | None:
    """The value as a number; None for a boolean and for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(str(value))
    except ValueError:
        return None


def plain(value: object) -> object:
    """A number as a float, anything else as its text in lower case."""
    number = as_number(value)
    return str(value).lower() if number is None else number
