"""How far a run is: planned steps, and how many it is short of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rltui.run.config import Config
from rltui.run.notes import Notes
from rltui.run.sums import median
from rltui.run.table import Series, Table

_RECENT = 20
_EXACT_FROM = 0.5
"""Epochs are logged with two decimals: only from this share of an epoch on do they tell the length of one."""


def planned_steps(config: Config, dialect: str, notes: Notes, find: Callable[[str], Series | None]) -> int | None:
    """Planned steps: by config, by what progress lines count towards, by the logged share that is done, or by epochs.

    None where nothing tells. A plan that the run has passed is no plan; one that lay behind it when it began counts
    from there: a stage that goes on with the steps of the one before.
    """
    logged = [series for name in USUAL if (series := find(name)) is not None and len(series)]
    first = min((int(series.steps[0]) for series in logged), default=None)
    step = max((int(series.steps[-1]) for series in logged), default=None)
    stated = config.positive(dialect, "total_steps")
    if stated is not None and first is not None and stated < first:
        stated += first - 1
    if stated is not None and (step is None or stated >= step):
        return int(stated)
    counted = notes.planned(step)
    if counted is not None:
        return counted
    done = find("progress_frac")
    if done is not None and len(done) and 0 < done.values[-1] <= 1:
        return round((int(done.steps[-1]) + 1) / float(done.values[-1]))
    epochs, epoch = config.positive(dialect, "total_epochs"), find("epoch")
    if epochs is not None and epoch is not None and len(epoch) and epoch.values[-1] >= _EXACT_FROM:
        if float(epoch.values[-1]).is_integer() and len(epoch) > 1 and epoch.values[0] == int(epoch.values[0]):
            return None  # whole epochs are counted, not shares of one
        return max(int(epoch.steps[-1]), round(int(epoch.steps[-1]) * epochs / float(epoch.values[-1])))
    return None


USUAL = ("reward_mean", "total_loss", "epoch", "lr")
"""Metrics of which every run logs one."""


def steps_short(table: Table, planned: int | None) -> int | None:
    """How many planned steps the last row is short of, None without a plan or rows. A trainer that counts from 0 ends
    one short of its plan."""
    if planned is None or not table.n:
        return None
    return max(0, planned - (1 if table.steps[0] == 0 else 0) - int(table.steps[-1]))


def row_gap(table: Table) -> int:
    """Steps between two rows, usually."""
    if table.n < 2:
        return 1
    steps = table.steps[-_RECENT:]
    return int(median((steps[1:] - steps[:-1]).astype(np.float64)))
