"""What the values of a key tell that its name leaves open: the sign of an entropy that is logged as a loss, whether
seconds are of a step or of the whole run so far, and whether a success "in percent" is a share."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from rltui.frameworks.resolve import PERCENT, Meaning, meant_as
from rltui.run.sums import median
from rltui.run.table import Series

ELAPSED = "elapsed_s"
LEAST = 4
"""How many rows of seconds decide: fewer may rise by chance."""
ABOUT = 2.0
"""Within this factor seconds have the same pace."""
ANEW = 4
"""What begins anew falls to such a part of what it was, and does so in fewer rows than one in so many."""
TURNED = "logged below 0, as a part of a loss: the sign is turned here, and a coefficient may still be in it"
SHARE = "called a percentage, but never above 1: it is taken for a share"
SUCCESS = 0.02
"""Of a success rate that is a share: a policy that gets it right less often has little to learn from."""


def by_values(meaning: Meaning, points: Series) -> Meaning | None:
    """The meaning of a key by its values, if that differs from its name's."""
    if meaning.canonical == "entropy":
        told = points.values[points.values != 0]
        return replace(meaning, scale=-meaning.scale, told=TURNED) if len(told) and told[0] < 0 else None
    if meaning.scale == PERCENT:
        return replace(meaning, scale=1.0, told=SHARE) if is_share(points) else None
    return meant_as(ELAPSED, meaning) if is_elapsed(points) else None


def is_share(points: Series) -> bool:
    """Whether what counts as a percentage by its name lies between 0 and 1 from the start on, and not only at 0. Once a
    value is above 1 it is a percentage."""
    x = points.values
    if len(x) < LEAST or x.min() < 0 or x.max() > 1 or not x.any():
        return False
    return median(x[x > 0]) >= SUCCESS


def is_elapsed(points: Series) -> bool:
    """Whether seconds only rise, at about the pace of the rows, and begin anew but now and then: with an epoch or a
    restart. Those of single steps fall as often as they rise, and do not begin at 0."""
    values, steps = points.values, points.steps
    if len(values) < LEAST:
        return False
    rises = np.diff(values)
    anew = np.flatnonzero(rises < 0) + 1
    pace = median(rises[rises >= 0]) if len(anew) < len(rises) else 0.0
    if pace <= 0 or ANEW * len(anew) > len(values):
        return False
    if (values[anew] > np.maximum(ABOUT * pace, values[anew - 1] / ANEW)).any():
        return False
    passed = np.diff(points.times)
    passed = passed[passed > 0]
    if len(passed) >= LEAST - 1:
        return 1 / ABOUT <= pace / median(passed) <= ABOUT
    gap = median(np.diff(steps[: LEAST + 1]).astype(float))
    return bool(values[0] <= ABOUT * pace * max(1.0, steps[0] / gap) or values.max() >= ABOUT * values[0])
