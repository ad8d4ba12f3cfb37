"""Rows that state no step, and the progress bar in another file: how many steps one row stands for.

A job that Slurm runs has its rows in `.out` and its bar in `.err`. Each row comes when the bar has gone on by as much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rltui.run.columns import Axis, Ints
from rltui.run.table import Table

SURE = 2
"""With more than so many rows for each step between them only one spacing fits the bar."""


class Spacing(NamedTuple):
    """Steps from one row to the next. `first`: the first step was logged too, whatever the spacing."""

    steps: int
    first: bool


def spacing(rows: int, bar: int) -> Spacing | None:
    """By the number of rows and the newest step of the bar; None if they do not tell."""
    steps = round(bar / rows) if rows else 0
    if steps < 1 or rows <= SURE * steps:
        return None
    ahead = rows * steps - bar
    if abs(ahead) > steps:
        return None
    return Spacing(steps, steps > 1 and ahead > 1)


def spaced(table: Table, apart: Spacing) -> Table:
    """The same rows at their steps."""
    out = Table()
    groups = []
    for axis, keys in table.axes():
        rows, steps, times = axis.filled()
        groups.append((Axis(rows, _at(steps, apart), times), {k: table.columns[k].values[: axis.count] for k in keys}))
    out.load(_at(table.steps, apart), table.times, groups)
    return out


def _at(counts: Ints, apart: Spacing) -> Ints:
    if not apart.first:
        return counts * apart.steps
    found: Ints = np.maximum(1, (counts - 1) * apart.steps)
    return found
