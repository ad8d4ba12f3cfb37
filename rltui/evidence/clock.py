"""How far a run is (in rows, steps and samples), how fast it goes, and how long it still takes."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, isfinite, sqrt

import numpy as np
from msgspec import Struct

from rltui.evidence.effects import mean_error, noise
from rltui.evidence.seen import Seen
from rltui.run.sums import median
from rltui.run.table import Floats, Ints, Series

REFERENCE = 200
"""The number of points of a run to which the stated window lengths refer."""
LEAST_SHARE, MOST_TIMES = 0.25, 2.5
"""Bounds of a window, as multiples of its stated length. A shorter window is mostly noise. With a longer one, a fault
in a long run is reported too late."""
LEAST = 5


def worth(rows: float, points: int) -> int:
    """The length of a window for a series of `points`, in proportion to the run and within bounds. A run that logs
    every second row, or that is ten times as long, is the same run: a window of a fixed number of rows would cover
    twice as much of the one and a tenth of the other."""
    part = rows * points / REFERENCE
    if part >= MOST_TIMES * rows:
        return int(MOST_TIMES * rows)
    least = LEAST_SHARE * rows
    if least < LEAST:  # if only a few rows are asked for, that many are enough
        least = LEAST if rows > LEAST else rows
    return int(part if part > least else least)


def capped(rows: float, points: int) -> int:
    """As `worth`, but at most the stated length. It is for how long something has to last, as noise comes with each
    row."""
    return min(int(rows), worth(rows, points))


def enough(rows: float, steps: Ints) -> bool:
    """Whether there are as many points as asked for, or a quarter of that over as many steps. 250 steps logged every 5
    are as long as 250 rows, but a few points are too few however far apart they are."""
    if len(steps) >= rows:
        return True
    if len(steps) < max(LEAST, LEAST_SHARE * rows):
        return False
    apart, gaps = int(steps[-1]) - int(steps[0]), len(steps) - 1
    return apart * (gaps + 1) >= rows * gaps  # a row covers the steps since the row before, and so does the first


def whole_parts(n: int, parts: int) -> int:
    """How many of `n` rows a computation uses that is too costly to repeat at each row: n less its remainder by a power
    of two, which is at least half of an n/`parts`-th. It depends on n alone, so rows read one by one and all at once
    are judged alike. Spacing that grew with each row would recompute after every `parts` rows, however long the run."""
    return n - n % (1 << max(0, (n // parts).bit_length() - 1))


class Clock(Struct, frozen=True):
    """How far a run is. `stride`: the usual number of steps from row to row. `samples`: responses trained on so far,
    None if the config does not say how many a step has."""

    rows: int
    first_step: int
    step: int
    stride: int
    planned_steps: int | None
    samples_per_step: float | None

    @property
    def samples(self) -> float | None:
        return None if self.samples_per_step is None else self.samples_per_step * self.step

    @property
    def steps_left(self) -> int | None:
        """Steps to the planned end; None without a plan or rows. A trainer that counts from 0 ends one step short of
        the plan."""
        if self.planned_steps is None or not self.rows:
            return None
        return max(0, self.planned_steps - (1 if self.first_step == 0 else 0) - self.step)


def clock(seen: Seen) -> Clock:
    """How far the run is at this look."""
    steps, settings = seen.steps, seen.settings
    recent = steps[-21:]
    stride = int(median((recent[1:] - recent[:-1]).astype(np.float64))) if len(recent) > 1 else 1
    prompts, group = settings.number("train_batch_prompts"), settings.group_size
    samples = settings.number("rollout_batch") or (prompts * group if prompts and group else None)
    first = int(steps[0]) if len(steps) else 0
    return Clock(seen.n, first, seen.step, max(1, stride), settings.planned_steps, samples)


ROWS = 50
"""Newest rows from which the pace is computed."""
LEAST_INTERVALS = 2
LEAST_SPREAD = 5
"""With fewer intervals than this, the time left has no error."""
PAUSE = 10.0
"""An interval this many times longer than any other is a pause. What belongs to the run comes again."""
MIDDLE_90 = 1.645


class Pace(Struct, frozen=True):
    """`step_s`: mean seconds a step, validation and checkpoints included, over the last `rows` intervals.

    `left_s` with its middle 90 % from `low_s` to `high_s`: the time to the planned end; None without a plan or if the
    end is reached. `by`: "times" (of the rows) or "timer" (the step time that the trainer logs).
    """

    step_s: float
    rows: int
    by: str
    steps_left: int | None
    left_s: float | None
    low_s: float | None
    high_s: float | None


def pace(steps: Ints, times: Floats, restarts: Sequence[int], timer: Series | None, left: int | None) -> Pace | None:
    """The pace from the times of the rows if there are any (they include all that takes time), else from the logged
    step time. None if neither is known. It uses the mean and not the median, as checkpoints and validations recur.
    `left`: steps to the end."""
    seconds, by = _by_times(steps, times, restarts), "times"
    if len(seconds) < LEAST_INTERVALS and timer is not None:
        seconds, by = timer.values[-ROWS:], "timer"
        seconds = seconds[(seconds > 0) & np.isfinite(seconds)]
    if not len(seconds):
        return None
    if len(seconds) > LEAST_INTERVALS:
        order = np.sort(seconds)
        if order[-1] > PAUSE * order[-2] > 0:  # if many rows were written at once, most take no time
            seconds = seconds[seconds < order[-1]]
    mean = float(np.add.reduce(seconds)) / len(seconds)
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
    """Seconds per step from each timed row to the next, for the newest rows; not across a restart."""
    known = np.flatnonzero(np.isfinite(times[-4 * ROWS :]))[-ROWS - 1 :] + max(0, len(times) - 4 * ROWS)
    at, stamps = steps[known], times[known]
    seconds, gaps = stamps[1:] - stamps[:-1], at[1:] - at[:-1]
    good = (seconds >= 0) & (gaps > 0)
    if len(restarts):
        good &= ~np.isin(at[1:], restarts)
    found: Floats = seconds[good] / gaps[good]
    return found if found.any() else np.zeros(0)
