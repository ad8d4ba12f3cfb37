"""The newest batches in which every answer got the same score, and whether the answers themselves differed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from rltui.evidence.stretches import on_rows
from rltui.run.table import Series

LENGTH = "response_length_mean"
BOUNDS = {"score_mean": ("score_min", "score_max"), "reward_mean": ("reward_min", "reward_max")}
"""The metrics of the lowest and highest score of a batch, by the metric of its mean."""
SPREAD = "reward_std"


class OneScore(Struct, frozen=True):
    """From step `since` on (`rows` points of the reward; `all_rows`: from the first one on), every answer got `value`.
    `lengths`: the lowest and highest mean length of those batches; None if it is not logged."""

    value: float
    rows: int
    since: int
    all_rows: bool
    lengths: tuple[float, float] | None

    @property
    def alike(self) -> bool | None:
        """Whether the answers also had one length, as if the policy always writes the same; None if unknown."""
        return None if self.lengths is None else self.lengths[0] == self.lengths[1]


def one_score(name: str, logged: Callable[[str], Series | None], until: int | None = None) -> OneScore | None:
    """The newest batches with one score. `logged`: points of any metric. `until`: the last step looked at. None if the
    newest batch has a spread, or if nothing shows it."""
    found = logged(name)
    reward = None if found is None else found.finite()
    if reward is not None and until is not None:
        reward = reward.where(reward.steps <= until)
    if reward is None or not len(reward):
        return None
    x, n, begin, some = reward.values, len(reward), len(reward), 1
    sides = [logged(bound) for bound in BOUNDS.get(name, ("", ""))]
    spread = logged(SPREAD)
    while begin:  # from the newest one back: for most runs this ends at once
        part = slice(max(0, begin - some), begin)
        rows, values = reward.rows[part], x[part]
        low, high = (on_rows(rows, side) for side in sides)
        one = ((low == values) & (high == values)) | (on_rows(rows, spread) == 0.0)
        off = np.flatnonzero(~(one & (values == x[-1])))
        begin = part.start + int(off[-1]) + 1 if len(off) else part.start
        if len(off):
            break
        some *= 4
    if begin == n:
        return None
    lengths = on_rows(reward.rows[begin:], logged(LENGTH))
    lengths = lengths[np.isfinite(lengths)]
    span = (float(lengths.min()), float(lengths.max())) if len(lengths) > 1 else None
    return OneScore(float(x[-1]), n - begin, int(reward.steps[begin]), begin == 0, span)


def one_value(series: Series, until: int) -> tuple[float, int, int] | None:
    """The value that a metric has in all its newest points up to a step, the number of these points, and the step of
    the first. None if it never had another one."""
    part = series.where(series.steps <= until)
    if not len(part):
        return None
    other = np.flatnonzero(part.values != part.values[-1])
    if not len(other):
        return None
    begin = int(other[-1]) + 1
    return float(part.values[-1]), len(part) - begin, int(part.steps[begin])
