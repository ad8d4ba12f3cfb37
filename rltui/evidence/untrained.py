"""Whether a first evaluation shows the model before training. It does if training had moved nothing by then."""

from __future__ import annotations

from math import sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rltui.evidence.metric import LEAST_NOISE, MetricFacts
from rltui.run.table import Floats, Ints

MOVED = 4.0
"""Standard errors by which later rows differ from the first ones if training moved. The best of all places to separate
them is taken. By noise alone 1 of 200 runs has such rows, and 3 of 100 if half of the noise carries on (simulated)."""
MOST_CARRIED = 0.5
"""Most of a row's noise that the next row carries on. What seems to be more is a quick rise or fall."""
LONE = 6
"""With fewer rows, the first one alone may be the level before: an immediate gain shows in the second."""


class Untrained(Struct, frozen=True):
    """The train reward before training moved it: `level` of its first rows with standard error `se`, and the direction
    in which it had `moved` by a step."""

    level: float
    se: float
    moved: int

    def exceeded(self, train: MetricFacts, steps: Ints, errors: float) -> NDArray[np.bool_]:
        """Whether the smoothed reward was above this level by `errors` standard errors of both, at each step."""
        curve = train.curve
        if curve is None:
            return np.zeros(len(steps), dtype=np.bool_)
        at = np.minimum(curve.steps.searchsorted(steps), len(curve.steps) - 1)
        return np.asarray(curve.values[at] - self.level >= errors * np.hypot(curve.se, self.se))


def untrained(train: MetricFacts | None, step: int) -> Untrained | None:
    """What the train reward shows about the time up to an evaluation at a step; None if that evaluation was made before
    training, or if nothing shows that training had moved by then.

    A gradual change is already in the first rows, and the row of the step itself may be a mean of many. So one row more
    than those up to the step is looked at.
    """
    if train is None or step <= _before_training(train.series.steps):
        return None
    x = train.values[: int(train.series.steps.searchsorted(step, "right")) + 1]
    if len(x) < 2:
        return None
    least = 1 if len(x) < LONE else 2
    parts = np.arange(least, len(x) - least + 1)
    sums = np.concatenate(([0.0], np.cumsum(x)))
    before, after = sums[parts] / parts, (sums[-1] - sums[parts]) / (len(x) - parts)
    rho = min(MOST_CARRIED, train.carried)
    sd = max(train.noise, LEAST_NOISE * float(np.abs(x).max())) * sqrt((1.0 + rho) / (1.0 - rho))
    if not (np.isfinite(sums).all() and sd > 0.0):
        return None
    errors: Floats = (after - before) / (sd * np.sqrt(1.0 / parts + 1.0 / (len(x) - parts)))
    at = int(np.abs(errors).argmax())
    if abs(float(errors[at])) < MOVED:
        return None
    return Untrained(float(before[at]), sd / sqrt(float(parts[at])), 1 if errors[at] > 0 else -1)


def _before_training(steps: Ints) -> int:
    """The last step at which an evaluation surely belongs to the model that training began with: the first step of a
    run that logs each step, even if it continues from a later one."""
    every = int(steps[1] - steps[0]) if len(steps) > 1 else 1
    return max(1, int(steps[0]) - max(1, every) + 1)
