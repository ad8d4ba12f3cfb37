"""What a logged loss contains beside the penalty for the KL to the reference."""

from __future__ import annotations

import numpy as np

from rltui.run.columns import Floats
from rltui.run.sums import median

PENALTY_ROWS = 10
"""The fewest rows that show what a loss contains."""
OFF, ROUNDED = 0.1, 0.005
"""How far a row may lie off the penalty: as a share of the penalty, and of the highest loss, as logs round."""
STRAY = 50
"""One row in this many may contain more."""


def times_of_penalty(loss: Floats, kl: Floats) -> float | None:
    """The factor by which the KL is multiplied, if the loss is this product in all rows (both for the same rows, in
    nats). 0 if the loss contains more. None if there are too few rows. The rows with the larger KL give the factor."""
    if len(loss) < PENALTY_ROWS or not (kl > 0).any():
        return None
    large = kl >= median(kl[kl > 0])
    times = median(loss[large] / kl[large])
    off = np.abs(loss - times * kl) > OFF * np.abs(times * kl) + ROUNDED * np.abs(loss).max()
    return times if times > 0 and off.sum() <= len(loss) // STRAY else 0.0
