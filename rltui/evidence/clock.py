"""How far a run is at a look: rows, steps, samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rltui.evidence.seen import Seen
from rltui.run.sums import median


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
