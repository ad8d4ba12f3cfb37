"""What a logged loss holds beside the penalty for the KL to the reference."""

from __future__ import annotations

import numpy as np

from rltui.run.columns import Floats
from rltui.run.sums import median

PENALTY_ROWS = 10
"""Fewest rows that tell what a loss holds."""
OFF, ROUNDED = 0.1, 0.005
"""How far one may lie off the penalty: of the penalty itself, and of the highest loss, as logs round."""
STRAY = 50
"""One row in so many may hold more."""


def times_of_penalty(loss: Floats, kl: Floats) -> float | None:
    """The number that the KL is multiplied with if the loss is that product in all rows (both of the same rows, in
    nats); 0 if the loss holds more; None if too few rows tell. The rows with the larger KL give the number."""
    if len(loss) < PENALTY_ROWS or not (kl > 0).any():
        return None
    large = kl >= median(kl[kl > 0])
    times = median(loss[large] / kl[large])
    off = np.abs(loss - times * kl) > OFF * np.abs(times * kl) + ROUNDED * np.abs(loss).max()
    return times if times > 0 and off.sum() <= len(loss) // STRAY else 0.0
