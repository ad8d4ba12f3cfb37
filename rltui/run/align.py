"""Gives rows without steps their steps, from rows with steps that hold the same values, or from a progress bar."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rltui.readers.keys import names
from rltui.run.columns import Axis
from rltui.run.table import Floats, Ints, Table

SAME = 1e-3
"""Values of two files are the same if they agree this closely (relatively): TensorBoard rounds to 7 digits, a console
to 4."""
_KEYS = 12
_AHEAD = 64
"""This many rows after the last match are tried before all others."""
_DIGITS = 6


def aligned(counted: Table, stated: Table) -> Table | None:
    """The rows of `counted`, each at the step of the row of `stated` that holds the same values. Rows after the last
    match continue at the same distance. Any other row without a match is left out. None if fewer than half match."""
    keys = _shared(counted, stated)
    if not keys:
        return None
    mine, theirs = _grid(counted, keys), _grid(stated, keys)
    found = _matches(mine, theirs, _tolerance(mine))
    rows = np.flatnonzero(found >= 0)
    if not len(rows) or 2 * len(rows) < int((~np.isnan(mine)).any(axis=1).sum()):
        return None
    steps: Ints = np.full(counted.n, -1, dtype=np.int64)
    steps[rows] = stated.steps[found[rows]]
    last, apart = int(rows[-1]), np.diff(steps[rows]) // np.maximum(1, np.diff(rows))
    if len(rows) > 1 and apart[-1] > 0 and (apart == apart[-1]).all():
        steps[last + 1 :] = steps[last] + apart[-1] * np.arange(1, counted.n - last)
    out = Table()
    for row in np.flatnonzero(steps >= 0).tolist():
        out.put(int(steps[row]), float(counted.times[row]), counted.cells(row), fold=True)
    return out


def _shared(counted: Table, stated: Table) -> list[str]:
    """The columns of both tables that distinguish rows best."""
    both = [key for key in counted.columns if key in stated.columns]
    kinds = {key: len(np.unique(stated.columns[key].values[: stated.columns[key].axis.count])) for key in both}
    return sorted((key for key in both if kinds[key] > 1), key=lambda key: -kinds[key])[:_KEYS]


def _grid(table: Table, keys: list[str]) -> Floats:
    """The cells of these columns, shape (rows, columns); NaN if a row has no such cell."""
    out: Floats = np.full((table.n, len(keys)), np.nan)
    for place, key in enumerate(keys):
        column = table.columns[key]
        n = column.axis.count
        out[column.axis.rows[:n], place] = column.values[:n]
    return out


def _tolerance(values: Floats) -> Floats:
    """For each column, how far rounding to its number of decimals can move a value."""
    out: Floats = np.zeros(values.shape[1])
    for place in range(values.shape[1]):
        known = values[~np.isnan(values[:, place]), place]
        for digits in range(_DIGITS):
            scaled = known * 10.0**digits
            if np.allclose(scaled, np.round(scaled), rtol=0.0, atol=1e-6):
                out[place] = 0.51 * 10.0**-digits
                break
    return out


def _matches(mine: Floats, theirs: Floats, rounding: Floats) -> Ints:
    """For each row, the row of `theirs` with the same values, after the match of the previous row; -1 if there is
    none."""
    found: Ints = np.full(len(mine), -1, dtype=np.int64)
    at = 0
    for row, cells in enumerate(mine):
        for begin, end in ((at, at + _AHEAD), (at + _AHEAD, len(theirs))):
            those = theirs[begin:end]
            held = ~(np.isnan(those) | np.isnan(cells))
            allowed = np.maximum(SAME * np.maximum(np.abs(those), np.abs(cells)), rounding)
            alike = (~held | (np.abs(those - cells) <= allowed)).all(axis=1)
            alike &= 2 * held.sum(axis=1) >= max(1, int((~np.isnan(cells)).sum()))
            if alike.any():
                found[row] = begin + int(alike.argmax())
                at = int(found[row]) + 1
                break
    return found


FEWEST = 3
"""This many rows must state their epoch to show how fast it rises."""
ROWS_A_STEP = 2
"""A single spacing fits the bar only if there are more rows than this many times the steps between two rows."""


class Spacing(NamedTuple):
    """Steps from one row to the next, if the bar is in another file: a Slurm job has its rows in `.out` and its bar in
    `.err`, and a row comes each time the bar has moved by `steps`. `first`: the first step was logged too, whatever the
    spacing. `begun`: the step of the checkpoint from which the launch continued."""

    steps: int
    first: bool
    begun: int = 0


class Begun(NamedTuple):
    """How much of the training was done when a launch began, as a `share` of what is done at its newest row. `error`:
    how far rounding may move that share."""

    share: float
    error: float


def begun(counted: Table) -> Begun | None:
    """The `Begun` that the epochs of the rows show: they rise evenly, and continue where the previous launch ended.
    None if they do not show that the launch continued from a checkpoint."""
    column = next((counted.columns[key] for key in names("epoch") if key in counted.columns), None)
    n = 0 if column is None else column.axis.count
    if column is None or n < FEWEST:
        return None
    epochs, counts = column.values[:n], counted.steps[column.axis.rows[:n]]
    a_row = (epochs[-1] - epochs[0]) / (counts[-1] - counts[0])
    rounding = 2 * float(_tolerance(epochs[:, None])[0])
    before = float(epochs[0] - a_row * counts[0])
    if not a_row > 0 or before <= max(rounding, a_row):  # it began less than one row into the training
        return None
    return Begun(before / float(epochs[-1]), rounding / float(epochs[-1]))


def spacing(rows: int, bar: int, went_on: Begun | None = None) -> Spacing | None:
    """The spacing, from the number of rows and the newest step of the bar; None if these do not show it. `went_on`: the
    launch continued from a checkpoint."""
    if went_on is not None:
        return _spacing_after(rows, bar, went_on)
    steps = round(bar / rows) if rows else 0
    if steps < 1 or rows <= ROWS_A_STEP * steps:
        return None
    ahead = rows * steps - bar
    if abs(ahead) > steps:
        return None
    return Spacing(steps, steps > 1 and ahead > 1)


def _spacing_after(rows: int, bar: int, went_on: Begun) -> Spacing | None:
    """The spacing of a launch that continued from a checkpoint. Rows come at multiples of the spacing, so the newest
    row is at the last multiple."""
    before, off = went_on.share * bar, went_on.error * bar
    steps = round((bar - before) / rows)
    if steps < 1 or rows <= ROWS_A_STEP * steps or off >= rows / 2:
        return None
    first = bar // steps * steps - rows * steps
    return Spacing(steps, False, first) if first > 0 and abs(first - before) <= steps + off else None


def spaced(table: Table, apart: Spacing) -> Table:
    """The rows with the steps that the spacing gives them."""
    out = Table()
    groups = []
    for axis, keys in table.axes():
        rows, steps, times = axis.filled()
        groups.append((Axis(rows, _at(steps, apart), times), {k: table.columns[k].values[: axis.count] for k in keys}))
    out.load(_at(table.steps, apart), table.times, groups)
    return out


def _at(counts: Ints, apart: Spacing) -> Ints:
    if not apart.first:
        return apart.begun + counts * apart.steps
    found: Ints = np.maximum(1, (counts - 1) * apart.steps)
    return found
