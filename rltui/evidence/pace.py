"""How fast the run goes and how long it still takes: one pace, one time left, for every place that names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, isfinite, sqrt

import numpy as np

from rltui.evidence.effects import mean_error, noise
from rltui.run.table import Floats, Ints, Series

ROWS = 50
"""Newest rows that tell the pace."""
LEAST = 2
LEAST_SPREAD = 5
"""Below this many intervals the time left has no error that could be told."""
PAUSE = 10.0
"""An interval so many times any other is a pause, not a habit: what belongs to the run comes again."""
MIDDLE_90 = 1.645


@dataclass(frozen=True, slots=True)
class Pace:
    """`step_s`: mean seconds a step, validation and checkpoints included, over the last `rows` intervals.

    `left_s` with its middle 90 % from `low_s` to `high_s`: time to the planned end; None without a plan or if it is
    reached. `by`: "times" of the rows, or the step time that the trainer logs ("timer").
    """

    step_s: float
    rows: int
    by: str
    steps_left: int | None
    left_s: float | None
    low_s: float | None
    high_s: float | None


def pace(steps: Ints, times: Floats, restarts: Sequence[int], timer: Series | None, left: int | None) -> Pace | None:
    """From the times of the rows if they have any (they see all that takes time), else from the logged step time. None
    if neither is known. The mean, not the median: checkpoints and validations come again. `left`: steps to the end.
    """
    seconds, by = _by_times(steps, times, restarts), "times"
    if len(seconds) < LEAST and timer is not None:
        seconds, by = timer.values[-ROWS:], "timer"
        seconds = seconds[(seconds > 0) & np.isfinite(seconds)]
    if not len(seconds):
        return None
    if len(seconds) > LEAST:
        order = np.sort(seconds)
        if order[-1] > PAUSE * order[-2] > 0:  # of rows that were written many at once most take no time
            seconds = seconds[seconds < order[-1]]
    mean = float(seconds.mean())
    if not isfinite((left or 1) * mean):
        return None
    if not left:
        return Pace(mean, len(seconds), by, left, None, None, None)
    if len(seconds) < LEAST_SPREAD:
        return Pace(mean, len(seconds), by, left, left * mean, None, None)
    error = MIDDLE_90 * left * hypot(mean_error(seconds, noise(seconds)), float(seconds.std()) / sqrt(left))
    low, high = max(0.0, left * mean - error), left * mean + error
    known = isfinite(high)
    return Pace(mean, len(seconds), by, left, left * mean, low if known else None, high if known else None)


def _by_times(steps: Ints, times: Floats, restarts: Sequence[int]) -> Floats:
    """Seconds a step from each timed row to the next one, of the newest; not over a restart."""
    known = np.flatnonzero(np.isfinite(times[-4 * ROWS :]))[-ROWS - 1 :] + max(0, len(times) - 4 * ROWS)
    at, stamps = steps[known], times[known]
    seconds, gaps = stamps[1:] - stamps[:-1], at[1:] - at[:-1]
    good = (seconds >= 0) & (gaps > 0)
    if len(restarts):
        good &= ~np.isin(at[1:], restarts)
    found: Floats = seconds[good] / gaps[good]
    return found if found.any() else np.zeros(0)
