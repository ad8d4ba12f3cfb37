"""Detects where validation changed to another measure: from one evaluation to the next it leapt as never before, while
the train reward and the policy stayed as they were.

Other questions, another prompt template, another grader or leaked answers have this effect at once. No policy gains or
loses so much on held-out prompts and nothing on the train prompts. What was measured before belongs to another measure:
`Look.series` leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from msgspec import Struct

from rltui.evidence.effects import noise_of_few
from rltui.evidence.outages import MOVED, POLICY, Points
from rltui.evidence.stretches import CLEAR, Mask
from rltui.evidence.trends import sd_d
from rltui.run.sums import median
from rltui.run.table import Floats, Ints, Series

BEFORE, AFTER = 4, 2
"""Evaluations before that show how far it usually moves from one to the next, and evaluations that have to
stay there."""
RECENT, FEW = 20, 10
"""The newest evaluations before that are looked at; with fewer than the second number, the noise is
measured as for few."""
FAR = 8.0
"""Times the noise of the evaluations before."""
USUAL = 4.0
"""Times the greatest earlier move from one evaluation to the next."""
SIZE = 0.15
"""Least leap, as a share of the scale: 1 for shares, else the greatest value so far."""
PART = 0.25
"""How much the train reward may have moved with the leap, its error included: this share of the leap, or of all that
the train reward ever moved if it is on another scale."""
BESIDE = 10
"""Rows of the train reward on each side of the leap that show whether it moved."""
NEAR = 6
"""Rows on each side that show whether the policy moved."""


class Revalued(Struct, frozen=True):
    """From row `first_row` of the table (step `since`) on, the validation set of this key has another measure. Levels
    `before` and `after`. `known`: the number of rows needed to see it."""

    key: str
    first_row: int
    since: int
    before: float
    after: float
    known: int

    def hides(self, series: Series, group: str, name: str | None) -> Mask:
        """The evaluations of this set that were made before."""
        out = np.zeros(len(series), dtype=np.bool_)
        if series.key == self.key and group == "validation":
            out[: int(series.rows.searchsorted(self.first_row))] = True
        return out


class Revaluations:
    """Leaps of the validation sets of one run. Each evaluation is looked at once while the run grows."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._found: dict[str, list[Revalued]] = {}

    def of(self, held_out: Series, reward: Callable[[], Series | None], logged: Points) -> list[Revalued]:
        """The leaps of one set, oldest first, from all of its evaluations. `reward`: the finite points of the train
        reward. `logged`: any metric as logged."""
        found = self._found.setdefault(held_out.key, [])
        x = held_out.values
        last, train = len(x) - AFTER, reward()
        if train is None:
            return found
        while last >= BEFORE and _after(train, int(held_out.rows[last])) < BESIDE:
            last -= 1  # too few rows have come since
        for at in range(max(BEFORE, self._seen.get(held_out.key, 0)), last + 1):
            begin = next((int(held_out.rows.searchsorted(one.first_row)) for one in reversed(found)), 0)
            if at - begin < BEFORE or not _leaps(x[max(begin, at - RECENT) : at], x[at : at + AFTER]):
                continue
            one = _told(held_out, at, train, logged)
            if one is not None:
                found.append(one)
        self._seen[held_out.key] = max(BEFORE, last + 1)
        return found


def _leaps(before: Floats, after: Floats) -> bool:
    up = bool(after[0] > before[-1])
    stays = float(after.min() if up else after.max())  # the nearest of those after it
    if stays <= before.max() if up else stays >= before.min():
        return False
    leap = abs(stays - float(before[-1]))
    greatest = float(max(np.abs(before).max(), np.abs(after).max()))
    shares = greatest <= 1.0 and min(before.min(), after.min()) >= 0.0
    if leap < SIZE * (1.0 if shares else greatest) or leap < USUAL * float(np.abs(np.diff(before)).max()):
        return False
    return leap >= FAR * (noise_of_few(before) if len(before) < FEW else sd_d(before))


def _told(held_out: Series, at: int, reward: Series, logged: Points) -> Revalued | None:
    """The leap at an evaluation, unless the train reward or the policy moved with it. A fall is reported only if the
    log shows that the policy is unchanged."""
    x, last, first, known = held_out.values, *(int(row) for row in held_out.rows[[at - 1, at, at + AFTER - 1]])
    known = max(known, int(reward.rows[int(reward.rows.searchsorted(first)) + BESIDE - 1]))
    if not _train_stays(reward, last, first, float(x[at] - x[at - 1]), x[: at + AFTER]):
        return None
    moved = _policy_moved(held_out.rows[max(0, at - RECENT) : at], first, known, logged)
    if moved or (moved is None and x[at] < x[at - 1]):
        return None
    before, after = median(x[max(0, at - 3) : at]), median(x[at : at + AFTER])
    return Revalued(held_out.key, first, int(held_out.steps[at]), before, after, known + 1)


def _policy_moved(evaluated: Ints, first: int, known: int, logged: Points) -> bool | None:
    """Whether the policy moved further from the last row of `evaluated` to row `first` than ever before between two
    evaluations, beyond its noise and a quarter of its level. None if no metric of the policy is logged."""
    seen = False
    for name in POLICY:
        series = logged(name)
        if series is None:
            continue
        series = series.finite()
        levels = [_median_of(series, row - NEAR + 1, row) for row in evaluated]
        stood, now = [one for one in levels if one is not None], _median_of(series, first, min(first + NEAR - 1, known))
        if now is None or len(stood) < 2 or levels[-1] is None:
            continue
        seen = True
        rows = series.values[: int(series.rows.searchsorted(int(evaluated[-1]), "right"))]
        usual = 2.0 * max(abs(b - a) for a, b in pairwise(stood))
        if abs(now - stood[-1]) > max(usual, CLEAR * sd_d(rows[-200:]), MOVED * abs(stood[-1])):
            return True
    return False if seen else None


def _median_of(series: Series, first: int, last: int) -> float | None:
    x = series.values[int(series.rows.searchsorted(first)) : int(series.rows.searchsorted(last, "right"))]
    return median(x) if len(x) else None


def _after(reward: Series, row: int) -> int:
    """How many points of the train reward came from a row on."""
    return len(reward) - int(reward.rows.searchsorted(row))


def _train_stays(reward: Series, last: int, first: int, leap: float, scores: Floats) -> bool:
    """Whether the train reward up to the last evaluation before the leap equals the train reward from the first
    evaluation after it on."""
    end, begin = int(reward.rows.searchsorted(last, "right")), int(reward.rows.searchsorted(first))
    before, after = reward.values[max(0, end - BESIDE) : end], reward.values[begin : begin + BESIDE]
    if len(before) < BESIDE // 2:
        return False
    so_far = reward.values[: begin + len(after)]
    moved = abs(float(after.mean() - before.mean()))
    error = sd_d(so_far[-200:]) * (1 / len(before) + 1 / len(after)) ** 0.5
    shares = [one.min() >= 0.0 and one.max() <= 1.0 for one in (so_far, scores)]
    if all(shares):
        return bool(moved + error <= PART * abs(leap))
    low, high = np.quantile(so_far, (0.05, 0.95))
    return bool(moved + error <= PART * float(high - low))
