"""Whether the reward is binary or graded, and the share of the better value, as far as batch numbers tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rltui.diagnosis.look import Look
from rltui.diagnosis.signal import num, percent
from rltui.run.medians import median

ROWS = 50  # newest rows that are looked at
LEAST = 5
TOLERANCE = 0.05  # of the spread: batches are finite, and n - 1 stands where n is meant
MOST_ROWS = 0.9


@dataclass(frozen=True, slots=True)
class RewardValues:
    """`binary` None: nobody can tell from what is logged. `positive` is the share of the upper value of a binary
    reward over the last rows, else None. `low`, `high`: least and greatest reward seen, None unknown."""

    binary: bool | None
    positive: float | None
    low: float | None
    high: float | None
    text: str


def reward_values(look: Look) -> RewardValues:
    """Two values a and b alone have the spread sqrt((mean - a)(b - mean)); any others have less.

    So batch mean, minimum, maximum and standard deviation together tell a binary reward from a graded one.
    """
    name = look.reward
    stem = "score" if name == "score_mean" else "reward"
    mean, low, high = (look.series(n) for n in (name, f"{stem}_min", f"{stem}_max"))
    floor, ceiling = look.profile.floor, look.profile.ceiling
    span = f"between {num(floor)} and {num(ceiling)}" if floor is not None and ceiling is not None else ""
    if mean is None:
        return RewardValues(None, None, None, None, "no reward is logged")
    a = float(low.values.min()) if low is not None else floor
    b = float(high.values.max()) if high is not None else ceiling
    spread = look.series("reward_std")
    unknown = RewardValues(None, None, a, b, f"binary or graded: batch extremes and spread do not tell {span}".strip())
    if spread is None or a is None or b is None or b <= a:
        return unknown
    rows = np.intersect1d(mean.rows[-ROWS:], spread.rows[-ROWS:])
    if len(rows) < LEAST:
        return unknown
    m = mean.values[np.searchsorted(mean.rows, rows)]
    s = spread.values[np.searchsorted(spread.rows, rows)]
    most = np.sqrt(np.maximum(0.0, (m - a) * (b - m)))
    alike = np.abs(s - most) <= TOLERANCE * (b - a)
    clear = most > 4 * TOLERANCE * (b - a)  # where all are alike both kinds have no spread
    if int(clear.sum()) < LEAST:
        return unknown
    if float(alike[clear].mean()) >= MOST_ROWS:
        share = median((m - a) / (b - a))
        return RewardValues(
            True, share, a, b, f"binary, {num(a)} or {num(b)}; {percent(share)} of the answers get {num(b)}"
        )
    if float((s < most - TOLERANCE * (b - a))[clear].mean()) >= MOST_ROWS:
        return RewardValues(False, None, a, b, f"graded, {num(a)} to {num(b)}")
    return unknown
