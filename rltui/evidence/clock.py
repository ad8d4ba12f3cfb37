"""How far a run is at a look: rows, steps, samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rltui.evidence.seen import Seen
from rltui.run.sums import median
from rltui.run.table import Ints

REFERENCE = 200
"""Points of a run for which windows and holds are stated."""
LEAST_SHARE, MOST_TIMES = 0.25, 2.5
"""Of a stated window: with fewer points its level is mostly noise; with more a fault of a long run is told too late."""
LEAST = 5


def worth(rows: float, points: int) -> int:
    """Points that a window of so many rows is worth in a series of `points`: as large a part of it, within bounds. A
    run of which every second row is kept, or that takes ten times as long, is the same run: windows counted in rows
    would reach back twice as far in the one and a tenth as far in the other."""
    part = rows * points / REFERENCE
    if part >= MOST_TIMES * rows:
        return int(MOST_TIMES * rows)
    least = LEAST_SHARE * rows
    if least < LEAST:  # so few rows as are asked for are enough
        least = LEAST if rows > LEAST else rows
    return int(part if part > least else least)


def capped(rows: float, points: int) -> int:
    """As `worth`, but never more than is stated: for how long something has to hold, as noise comes by the row."""
    return min(int(rows), worth(rows, points))


def enough(rows: float, steps: Ints) -> bool:
    """Points at these steps are as many as asked for, or a quarter of that over as many steps: 250 steps logged every 5
    are no shorter than 250 rows, but a few points are few however far apart."""
    if len(steps) >= rows:
        return True
    return len(steps) >= max(LEAST, LEAST_SHARE * rows) and int(steps[-1]) - int(steps[0]) + 1 >= rows


@dataclass(frozen=True, slots=True)
class Clock:
    """How far a run is. `stride`: steps from row to row, usually. `samples`: responses trained on so far, None if the
    config does not say how many a step has."""

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
        """Steps to the planned end; None without a plan or rows. Who counts from 0 ends one short of the plan."""
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
