"""Which way a validation went, and how surely: of few noisy evaluations only means tell."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from rltui.evidence.effects import noise_of_few
from rltui.evidence.evaluations import confirmed
from rltui.evidence.peak import FEW
from rltui.evidence.trends import sd_d
from rltui.run.table import Floats, Ints

LEAST = 5
"""Evaluations of a set: with fewer their noise is not known."""


class Way(NamedTuple):
    """Where a validation began and where it is, the most that it may have gained, and whether it surely gained."""

    start: float
    end: float
    most: float
    sure: bool


def way_of(x: Floats, all_of_it: Floats | None = None) -> Way:
    """`all_of_it`: what tells the noise if `x` is a part of it."""
    x = confirmed(x)
    start, end = from_first(x)
    known = x if all_of_it is None else confirmed(all_of_it)
    sd = noise_of_few(known) if len(known) < FEW else sd_d(known)
    error = sd * sqrt(0.5 + 1.0 / max(2, len(x) // 3))  # of the difference of both
    return Way(start, end, end - start + 2.0 * error, end - start >= 2.0 * error)


def from_first(x: Floats) -> tuple[float, float]:
    """As `ends_of`, from the first two evaluations on if they are lower: what was gained at once is a gain."""
    start, end = ends_of(x)
    return min(start, float(x[:2].mean())), end


def ends_of(x: Floats) -> tuple[float, float]:
    """Means of the first and of the last third."""
    third = max(2, len(x) // 3)
    return float(x[:third].mean()), float(x[-third:].mean())


PLACES = 12
"""Steps at which both may have parted that are tried."""


def places(steps: Ints, before: int) -> list[int]:
    """Steps of evaluations with so many of them `before` and enough from there on, some of many, the earliest first."""
    inner = steps[before : len(steps) - LEAST + 1]
    return [int(step) for step in inner[:: max(1, len(inner) // PLACES)]]
