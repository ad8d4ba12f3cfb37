"""Detects where the reward changed to another scale: from one row on, the same answers earn a multiple of what they
did.

Another judge, a changed weight or a division by another number scales the mean, the spread and the extremes of a reward
by one factor at once, while the policy writes as before. No policy does so: if it gets a tenth of the reward, its
spread is not a tenth. What was logged before belongs to another measure: `Look.series` leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, isfinite, log

import numpy as np
from msgspec import Struct

from rltui.evidence.outages import Points, policy_moved
from rltui.evidence.stretches import Mask, on_rows
from rltui.evidence.trends import sd_d, sd_m, windows
from rltui.run.sums import column_medians, median
from rltui.run.table import Floats, Series

BEFORE = 20
"""Points before that show the earlier level; at least half of them must be there."""
AFTER = (4, 12)
"""Points after the change that are looked at: a dozen give the noise of a mean, four do not."""
MIXED = 3
"""Points before a cut that show the size before it. The last of them may hold batches of both kinds."""
NEAR = 6
"""Points before at which the policy is looked at: over more of them, a young policy moves by itself."""
MOST = log(1e12)
"""Beyond this, numbers break, and nobody changes a scale by so much."""
LEAST = log(2.0)
"""A spread that changes by less may do so because of the prompts that are drawn."""
CLEAR = 4.0
"""Standard errors beyond which a value has moved, or is not the one expected."""
ROUGH = 0.02
"""Least sd of the logarithm of a spread that counts: some spreads are logged with two digits."""
NOISE_LOG = 0.45
"""Sd of the logarithm of a noise that is measured from the differences of a dozen points."""
ANSWERS, DIGITS = 4097, 12
"""The most answers of a batch, and the most digits of a mean, that are looked at."""
GRID = 1e-4
"""Chance that means of no grid lie on any of the grids that are tried."""
UNDER_WAY = 0.5
"""If the level moved the same way by this share of the change before it, it is a collapse, whose spread
falls with it."""
COUNTED = 0.75
"""If only the mean is logged: the least power of the factor by which its noise has to grow. The noise of answers that
are right or wrong grows by at most the root of the share that is right."""
ALIKE = log(1.25)
"""Two factors that differ by less count as one."""
SIGNS = 2
"""Of spread, level and noise, so many must have moved by the factor, and none by another; one more if no metric of the
policy is logged."""
SCALED = frozenset(
    {"score_mean", "score_min", "score_max", "reward_mean", "reward_min", "reward_max", "reward_std"}
    | {"return_mean", "return_min", "return_max", "reward_component_mean", "reward_component_std"}
)
"""Metrics in the unit of the reward. Of its parts any one may be what changed."""


class Rescale(Struct, frozen=True):
    """From row `first_row` of the table (step `since`) on, the reward is `times` what it was. `before` and `after` are
    its levels there. `known`: the number of rows needed to see it. `alone`: no spread is logged, and the noise from row
    to row shows it. `of`: the metric that shows it. A score beside a reward that changed keeps its own scale."""

    first_row: int
    since: int
    times: float
    before: float
    after: float
    known: int
    alone: bool = False
    of: str = "score_mean"

    @property
    def shown(self) -> float:
        """The factor of the levels, which are shown beside it, if it agrees with that of the spread; else that of the
        spread."""
        levels = self.after / self.before if self.before else 0.0
        return levels if levels > 0 and abs(log(levels / self.times)) < ALIKE else self.times

    def hides(self, series: Series, group: str, name: str | None) -> Mask:
        """Points of a metric that were measured on the earlier scale; those of held-out scores only if they changed
        likewise."""
        at = int(series.rows.searchsorted(self.first_row))
        out = np.zeros(len(series), dtype=np.bool_)
        same = name in SCALED and (self.of == "score_mean" or not name.startswith("score_"))
        out[:at] = same or (group == "validation" and self._also(series, at))
        return out

    def _also(self, scores: Series, at: int) -> bool:
        """Whether the first evaluation since then lies nearer to the new scale than to the old one."""
        if not 0 < at < len(scores):
            return False
        old, new = float(scores.values[at - 1]), float(scores.values[at])
        if not (old > 0 < new or old < 0 > new):
            return False
        size = log(abs(new)) - log(abs(old))
        return abs(size - log(self.times)) < abs(size)


class Rescales:
    """Changes of scale of one run's reward, oldest first. What is settled is kept while the run grows."""

    def __init__(self) -> None:
        self._settled = -1
        self._found: list[tuple[int, Rescale]] = []  # each with the point from which on it holds

    def of(self, reward: Series, spread: Callable[[int], Series | None], logged: Points) -> list[Rescale]:
        """`spread`: the standard deviation of the rewards of a batch, or their range, from a row on; None if neither is
        logged."""
        base, whole = max(0, self._settled - BEFORE - MIXED), reward.values
        reward = reward.since_row(int(reward.rows[base])) if base < len(reward) else reward
        beside = spread(int(reward.rows[0])) if len(reward) else None
        wide, settled = reward.values if beside is None else on_rows(reward.rows, beside), self._settled - base
        found = list(self._found)
        for at in _jumps(wide, max(0, settled - MIXED)):
            if at <= settled or (found and at + base < found[-1][0] + BEFORE // 2):
                continue
            seen = (_seen(reward, wide, at, points, logged, beside is None) for points in AFTER)
            one = next((one for one in seen if one is not None), None)
            if one is not None and not _is_remnant(one.before, whole[: at + base]):
                found.append((at + base, one))
        self._settled = base + len(reward) - AFTER[-1]
        self._found = [(at, one) for at, one in found if at <= self._settled]
        return [one for _, one in found]


LEVEL = 20
"""Points that give a level."""
REMNANT = 0.05
"""Share of the best level before: the remainder of a lost reward may rise by factors without any change of scale."""


def _is_remnant(level: float, x: Floats) -> bool:
    blocks = x[len(x) % LEVEL :].reshape(-1, LEVEL)
    return len(blocks) > 0 and abs(level) < REMNANT * float(np.abs(column_medians(blocks.T)).max())


def _jumps(x: Floats, start: int) -> list[int]:
    """Points from `start` on from which the size may have changed: the point and the two after it lie on one side, the
    second and third before it on the other. The point just before it may hold batches of both kinds."""
    x = x[start:]
    if len(x) < 6:
        return []
    size = np.abs(x)
    if np.maximum.reduce(size) <= exp(LEAST / 2) * np.minimum.reduce(size):
        return []
    size = np.log(np.maximum(size, 1e-300))
    back, ahead = windows(size, 2)[:-4], windows(size, 3)[MIXED:]
    apart = np.maximum(ahead.min(axis=1) - back.max(axis=1), back.min(axis=1) - ahead.max(axis=1))
    return [int(at) + start + MIXED for at in np.flatnonzero(apart > LEAST / 2)]


def _seen(reward: Series, spread: Floats, at: int, points: int, logged: Points, alone: bool) -> Rescale | None:
    """The change of scale at a point, if `points` points from it on show one. `alone`: the mean replaces the spread,
    which is then not a sign of its own. A loss of the mean may be the policy's own."""
    x, rows, near = reward.values, reward.rows, AFTER[0]
    if at + points > len(x) or at - 1 < BEFORE // 2:
        return None
    before, after = x[max(0, at - 1 - BEFORE) : at - 1], x[at : at + points]
    wide = _wider(spread, at, points)
    if wide is None or not max(LEAST, CLEAR * wide[1]) <= abs(wide[0]) <= MOST:
        return None
    size, unsure = wide
    if alone and size < 0:
        return None
    times, noise = exp(size), max(sd_d(before), 1e-12)
    old, new = median(before[-near:]), median(after[:near])
    error = noise * 1.25 / near**0.5
    if size < 0 and counted_alike(before, after):
        return None  # fewer answers of the same number are right
    under_way = old - median(before[:near])
    if abs(under_way) > max(CLEAR * error, UNDER_WAY * abs(new - old)) and (under_way > 0) == (new > old):
        return None  # it was already on its way there
    if abs(new - times * old) > CLEAR * times * (error * 2**0.5 + abs(old) * (unsure + ROUGH)):
        return None  # it went to another level: the answers differ
    signs = (not alone) + (abs(new - old) > CLEAR * max(1.0, times) * error)
    later = sd_d(after) if points > near else 0.0
    if not isfinite(later / noise):
        return None
    if later / noise > 0.0:
        grown = log(later / noise)
        if abs(grown - size) > 3 * NOISE_LOG or (alone and grown < COUNTED * size):
            return None
        signs += abs(size) > CLEAR * NOISE_LOG
    moved = policy_moved(rows[at - 1 - NEAR : at - 1], rows[at : at + near], logged, NEAR // 2)
    if moved or signs < (SIGNS if moved is not None else SIGNS + 1):
        return None
    return Rescale(int(rows[at]), int(reward.steps[at]), times, old, new, int(rows[at + points - 1]) + 1, alone)


def counted_alike(before: Floats, after: Floats) -> bool:
    """Whether the means before and after are shares of one number of answers, as `3/256` and `70/256`: a smaller scale
    would leave that grid. False if no grid shows."""
    unsure = _rounding(np.concatenate([before, after]))
    early, late = unsure[: len(before)], unsure[len(before) :]
    for many in range(2, ANSWERS):
        if float(np.log(2.0 * early * many).sum()) > log(GRID / ANSWERS):
            return False  # with so narrow a grid, any numbers may lie this near to it
        if _on_grid(before, many, early):
            return _on_grid(after, many, late)
    return False


def _rounding(x: Floats) -> Floats:
    """Half of the last digit with which each number was logged: all have equally many decimals, or equally
    many digits."""
    decimals = next((d for d in range(3, DIGITS) if np.array_equal(np.round(x, d), x)), DIGITS)
    digits = next((d for d in range(3, DIGITS) if all(float(f"{one:.{d}g}") == one for one in x)), DIGITS)
    last = np.floor(np.log10(np.maximum(np.abs(x), 1e-12))) + 1 - digits
    return np.maximum(0.5 * 10.0**-decimals, 0.5 * 10.0**last) + 1e-12


def _on_grid(x: Floats, many: int, unsure: Floats) -> bool:
    return bool((np.abs(x - np.round(x * many) / many) <= unsure).all())


def _wider(x: Floats, at: int, points: int) -> tuple[float, float] | None:
    """Logarithm of the factor by which the spread changed, and its standard error; None if it is not a step."""
    before, after = x[max(0, at - 1 - BEFORE) : at - 1], x[at : at + points]
    before, after = before[np.isfinite(before) & (before > 0)], after[np.isfinite(after) & (after > 0)]
    if len(before) < BEFORE // 2 or len(after) < AFTER[0]:
        return None
    before, after = np.log(before), np.log(after)
    sd = max(sd_d(before), sd_m(before), ROUGH)
    size = median(after) - median(before)
    middle = median(before) + size / 2
    way = 1 if size > 0 else -1
    if abs(after[0] - median(after)) > abs(size) / 4:
        return None  # batches of both kinds
    if abs(median(before[-MIXED:]) - median(before)) > abs(size) / 4:
        return None  # it was already on its way there
    if bool((way * (after - middle) < 0).any()) or bool((way * (before[-3:] - middle) > 0).any()):
        return None
    return size, sd * 1.25 * (1 / len(before) + 1 / len(after)) ** 0.5
