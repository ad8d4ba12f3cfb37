"""The seconds of a step as the sum of its phases, for a run that times the phases but not the whole step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rltui.frameworks.dialect import Dialect
from rltui.frameworks.load import phases
from rltui.frameworks.schema import PHASE
from rltui.run.table import Series

STEP = "time_per_step_s"
SUM = "sum of the phases"
"""Takes the place of the key."""
GENERATIONS, UPDATES = ("rollout", "experience"), ("update_actor", "train_group")
"""Without one of each, the sum is not a step. The first that is timed determines the rows at which a step ends."""
BESIDE = frozenset({"step", "other", "save_checkpoint", "validation", "recover", "dump_samples"})
"""Phases that most steps do not run: each of them would make a step look slow."""
ASYNC = ("staleness_mean", "trainer_idle_ratio")
"""If one of these is logged, phases overlap and their sum is longer than a step."""


def summed_steps(series: Callable[[str], Series | None], names: Dialect) -> Series | None:
    """The sums for the rows that time generation and update; None if the run does not time both, or if it generates
    while it trains."""
    if any(series(name) is not None for name in ASYNC):
        return None
    out = {phase for outside in names.phases.outside or () for phase in outside.phases}
    left_out = BESIDE | out | set(names.phases.nested or ())
    timed = {name: s for name in phases() if name not in left_out and (s := series(PHASE + name)) is not None}
    update = next((timed[name] for name in UPDATES if name in timed), None)
    generation = next((name for name in GENERATIONS if name in timed), None)
    if generation is None or update is None:
        return None
    first = timed[generation]
    whole = first.where(np.isin(first.rows, update.rows))
    if not len(whole):
        return None
    seconds = whole.values.copy()
    for name, one in timed.items():
        if name != generation:
            at = np.searchsorted(one.rows, whole.rows).clip(0, len(one) - 1)
            seconds += np.where(one.rows[at] == whole.rows, one.values[at], 0.0)
    return Series(SUM, whole.steps, seconds, whole.rows, whole.times)
