"""How two metrics move from row to row."""

from __future__ import annotations

import numpy as np

from rltui.run.table import Series

LEAST_ROWS = 20


def together(one: Series, other: Series) -> float | None:
    """Correlation of the changes from row to row, in the steps that both have; None if the steps are too few, or if one
    of them holds still."""
    _, mine, its = np.intersect1d(one.steps, other.steps, return_indices=True)
    changes = np.diff(one.values[mine]), np.diff(other.values[its])
    if len(mine) <= LEAST_ROWS or not all(np.std(x) > 0 for x in changes):
        return None
    return float(np.corrcoef(*changes)[0, 1])
