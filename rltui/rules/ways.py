"""Which way validation went, and how certain that is: with few noisy evaluations, only means are reliable."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from rltui.evidence.effects import noise_of_few
from rltui.evidence.evaluations import confirmed
from rltui.evidence.peak import FEW
from rltui.evidence.trends import sd_d
from rltui.run.table import Floats, Ints

LEAST = 5
"""Fewest evaluations of a set: with fewer, their noise is unknown."""


class Way(NamedTuple):
    """Where validation began and where it is now, the most that it may have gained, and whether it certainly gained."""

    start: float
    end: float
    most: float
    sure: bool


def way_of(x: Floats, all_of_it: Floats | None = None) -> Way:
    """The way of the evaluations `x`. `all_of_it`: the whole set, used for the noise if `x` is a part of it."""
    x = confirmed(x)
    start, end = from_first(x)
    known = x if all_of_it is None else confirmed(all_of_it)
    sd = noise_of_few(known) if len(known) < FEW else sd_d(known)
    error = sd * sqrt(0.5 + 1.0 / max(2, len(x) // 3))  # of the difference of both
    return Way(start, end, end - start + 2.0 * error, end - start >= 2.0 * error)


def from_first(x: Floats) -> tuple[float, float]:
    """As `ends_of`, but from the first two evaluations if they are lower: an immediate gain also counts."""
    start, end = ends_of(x)
    return min(start, float(x[:2].mean())), end


def ends_of(x: Floats) -> tuple[float, float]:
    """Means of the first and the last third."""
    third = max(2, len(x) // 3)
    return float(x[:third].mean()), float(x[-third:].mean())


PLACES = 12
"""Number of steps that are tried as the point at which both parted."""


def places(steps: Ints, before: int) -> list[int]:
    """Steps of evaluations, earliest first, with `before` evaluations before each and enough from it on; only some of
    them if there are many."""
    inner = steps[before : len(steps) - LEAST + 1]
    return [int(step) for step in inner[:: max(1, len(inner) // PLACES)]]
