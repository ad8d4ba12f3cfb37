"""A KL to the reference that the updates of the first rows caused: a row includes the updates of its own step."""

from __future__ import annotations

import numpy as np

from rltui.evidence.look import Look
from rltui.rules.base import tail

ROWS, FIRST = 8, 3
"""First rows that are looked at, and those of them that show the level."""
CLOSE = 2
"""Most steps from row to row: between rows further apart, many small updates move the policy as well."""
AS_FAR = 0.5
"""Share of that level. Three moves of this size from row to row, or a fall to this share by the last row, show that
updates go this far. If the reference is another model, the KL stays."""
OWN = 0.1
"""Share of that level that the updates within the first row moved, if that is logged."""


def kl_of_first_updates(look: Look) -> float:
    """The KL of the first rows if updates caused it, as a far too high rate does. 0 if nothing shows that they did."""
    series, own = look.series("kl_ref"), look.values("ppo_kl")[:1]
    if series is None or len(series) < ROWS or int(look.steps[0]) > CLOSE or series.steps[ROWS - 1] > CLOSE * ROWS:
        return 0.0
    kl = series.values[:ROWS]
    level = tail(kl[:FIRST], FIRST)
    gone = tail(kl[FIRST:], ROWS - FIRST) <= AS_FAR * level
    moves = np.sort(np.abs(np.diff(kl)))
    made = gone or moves[-3] >= AS_FAR * level or (len(own) > 0 and own[0] >= OWN * level)
    return level if made else 0.0
