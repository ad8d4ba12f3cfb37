"""Level shifts: steps at which a metric went from one level to another at once. A trend test does not see them."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt

import numpy as np
from msgspec import Struct

from rltui.evidence.effects import NOISE_POINTS, noise, noise_of_few, off_trend
from rltui.evidence.trends import running_medians, windows
from rltui.run.sums import column_medians, mean, median
from rltui.run.table import Floats, Ints, Series

MARGIN = 5
"""The fewest points of a level."""
NEAR = 10
"""Points on each side of a cut that have to differ as well: a slope differs only between its ends."""
MOST_POINTS = 512
MOST = 8
AT_ONCE = 0.6
"""Share of the difference of both levels that the points next to the cut already show."""
CLEAR = 4.0
"""Least size of the jump, in sd of the noise."""


class Shift(Struct, frozen=True):
    """First step of the new level, and the medians before and after it."""

    step: int
    before: float
    after: float


def shifts(steps: Ints, values: Floats, sd: float | None = None) -> tuple[Shift, ...]:
    """Level shifts among the newest 512 points, in step order, at most 8. `sd`: their noise, if it is known.

    Binary segmentation (Scott, Knott 1974) on running medians of 5. A cut counts if both levels differ by 3 log n in
    squared errors and 4 sd of the noise, and if most of that difference lies right at the cut.
    """
    x, steps = values[-MOST_POINTS:], steps[-MOST_POINTS:]
    if len(x) < 2 * MARGIN + 1 or not np.isfinite(x[-1] - x[0]):
        return ()
    y = running_medians(x)
    if not np.isfinite(y.sum()):
        return ()
    cuts: list[int] = []
    parts = [(0, len(y))]
    while parts and len(cuts) < MOST:
        begin, end = parts.pop()
        at = _cut(x[begin:end], y[begin:end], sd if end - begin == len(y) else None)
        if at is not None:
            cuts.append(begin + at)
            parts += [(begin, begin + at), (begin + at, end)]
    edges = [0, *sorted(cuts), len(x)]
    return tuple(
        Shift(int(steps[at]), median(x[low:at]), median(x[at:high]))
        for low, at, high in zip(edges, edges[1:], edges[2:], strict=False)
    )


def _cut(x: Floats, y: Floats, known: float | None) -> int | None:
    """Index of the clearest jump, None if there is none. `known`: the noise of all points."""
    n = len(y)
    if n < 2 * MARGIN + 1:
        return None
    at = np.arange(MARGIN, n - MARGIN + 1)
    centred = y - mean(y)
    head = centred.cumsum()[at - 1]
    gain = head * head * n / (at * (n - at))  # squared error that two levels save over one
    best = int(at[int(gain.argmax())])
    apart = median(x[best:]) - median(x[:best])
    sd, most = 0.0, float(gain.max())
    for part in (x, x[:best], x[best:]):  # longer or larger values are noisier too
        sd = max(sd, noise(part) if known is None else known)
        known = None
        if abs(apart) <= CLEAR * sd or most <= 3.0 * log(n) * sd * sd:
            return None
    best = _place(x, best, (median(x[:best]) + median(x[best:])) / 2.0)
    jump = median(x[best : best + NEAR]) - median(x[max(0, best - NEAR) : best])
    if jump * apart <= 0 or abs(jump) < AT_ONCE * abs(apart) or abs(jump) <= CLEAR * sd * sqrt(2.0 / MARGIN):
        return None
    return best


def _place(x: Floats, best: int, middle: float) -> int:
    """The cut, moved by up to a margin to where most values on its left lie on one side of the middle of both levels
    and most on its right on the other. Running medians blur it by two points."""
    low, high = max(MARGIN, best - MARGIN), min(len(x) - MARGIN, best + MARGIN)
    up = bool(median(x[best:]) > middle)
    after = x[low - MARGIN : high + MARGIN] > middle
    right = (after if up else ~after).cumsum()
    if high < low:
        return best
    cuts = np.arange(MARGIN, high - low + MARGIN + 1)  # points on the left of each
    return low + int((cuts - 2 * right[cuts - 1]).argmax())  # left ones on the left plus, up to a constant, right ones


LOUDER, LEAST_EACH = 2.0, 20
"""From this many times the noise before, with this many points on each side, the noise of a metric counts as grown."""
SURE = 10.0
"""Log of how much likelier the rows are with two noises than with one, over all cuts: constant noise reaches 6 in one
series of a hundred."""


def louder(steps: Ints, values: Floats) -> int | None:
    """The first step from which on a metric jumps at least twice as much from row to row, at the same level; None if
    there is none. A change of level may change the noise as well, as it does for a share.

    The cut of greatest likelihood, with differences off the trend that are Laplace distributed: single jumps count
    once.
    """
    x = values[-min(MOST_POINTS, NOISE_POINTS) :]
    n = len(x) - 1
    if n < 2 * LEAST_EACH or not np.isfinite(x).all():
        return None
    d = np.abs(off_trend(x))
    at = np.arange(LEAST_EACH, n - LEAST_EACH + 1)
    total = np.cumsum(d)
    before, after = total[at - 1] / at, (total[-1] - total[at - 1]) / (n - at)
    if before.min() <= 0 or after.min() <= 0:
        return None
    gain = n * log(total[-1] / n) - at * np.log(before) - (n - at) * np.log(after)
    best = int(np.argmax(np.where(after >= LOUDER * before, gain, 0.0)))
    cut = 1 + int(at[best])
    apart = abs(median(x[cut:]) - median(x[:cut]))
    if gain[best] < SURE or after[best] < LOUDER * before[best] or apart > LOUDER * noise(x[cut:]):
        return None
    return int(steps[-len(x) :][cut])


BESIDE, ALL_BUT = 3, 2 / 3
"""Rows on each side of a shift that show whether it came at once, and the share of it that they then show."""


def at_once(series: Series, shift: Shift, beside: int = BESIDE) -> bool:
    """Whether the shift lies between the three rows before it and the three after: a warm-up or a decay that lasts
    longer is a schedule. `beside`: this many rows instead, as many updates lie between two evaluations."""
    at = int(series.steps.searchsorted(shift.step))
    before, after = series.values[max(0, at - beside) : at], series.values[at : at + beside]
    if not len(before) or not len(after):
        return False
    moved, whole = median(after) - median(before), shift.after - shift.before
    if moved * whole > 0 and abs(moved) >= ALL_BUT * abs(whole):
        return True
    return beside > 1 and _rather_a_step(series.values, at, shift)


RAMPS = (8, 12, 16)
"""Rows of the ramps that are compared with a step in noise: what takes two or three rows came at once."""
AS_LIKELY = 2.0
"""Log likelihood by which the best of all ramps may be ahead of a step: it is the best of many."""


def _rather_a_step(x: Floats, at: int, shift: Shift) -> bool:
    """Whether ten rows on each side of a shift fit a step as well as any ramp: in noise, three rows may lie
    anywhere."""
    low, high = max(0, at - NEAR), min(len(x), at + NEAR)
    if min(at - low, high - at) < MARGIN or shift.after == shift.before:
        return False
    gone = (x[low:high] - shift.before) / (shift.after - shift.before)
    places, off = np.arange(low - at, high - at), np.arange(-MARGIN, MARGIN + 1)[:, None]
    step = float(((gone - (places >= 0)) ** 2).sum())
    ramps = np.concatenate([np.clip((places - off) / rows + 0.5, 0.0, 1.0) for rows in RAMPS])
    ramp = float(((gone - ramps) ** 2).sum(axis=1).min())
    return step <= ramp * exp(AS_LIKELY / len(gone))


def step_between(series: Series, first: int, last: int, beside: int = BESIDE) -> Shift | None:
    """The clearest jump between two steps, judged by the ten points on each side; None if there is none. A metric that
    rises before and after a fall may be as high on the whole on both sides of it, so that no level shift is seen."""
    x, (low, high) = series.values, _cuts(series, first, last)
    if high < low:
        return None
    level = _levels(x, low, high + NEAR)
    before, after = level[:-NEAR], level[NEAR:]
    best = int(np.argmax(np.abs(after - before)))
    sides = float(before[best]), float(after[best])
    begin, end = max(0, low - NOISE_POINTS), min(len(x), high + NOISE_POINTS)
    if abs(sides[1] - sides[0]) <= CLEAR * noise(x[begin:end]):
        return None
    first = max(0, low + best - NEAR)  # several cuts may separate the same medians
    at = first + _place(x[first : low + best + NEAR], low + best - first, sum(sides) / 2.0)
    shift = Shift(int(series.steps[at]), *sides)
    if not at_once(series, shift, beside):
        return None
    sd = max(noise(x[begin:at]), noise(x[at:end]))  # larger values are noisier too, and a slope through them has jumps
    return shift if abs(shift.after - shift.before) > CLEAR * sd else None


PART = 0.5
"""The share of the least jump that means of ten points show: one outlier moves them, though not a median."""


def around_a_step(series: Series, first: int, last: int, by: float) -> Series | None:
    """The points around a possible jump between two steps, by at least the share `by` of its level; None if there can
    be none, judged by means of ten points on each side of each ten. A quick look before `step_between`."""
    return next(iter(around_steps([series], first, last, by)))


def around_steps(several: Sequence[Series], first: int, last: int, by: float) -> list[Series | None]:
    """The same for several metrics that are logged in the same rows, at little more than the cost of one."""
    steps = several[0].steps
    reach = max(0, int(steps.searchsorted(first)) - NOISE_POINTS - NEAR)
    low, high = (cut - reach for cut in _cuts(several[0], first, last))
    if high < low:
        return [None for _ in several]
    x = np.array([series.values[reach:] for series in several])
    part = x[:, max(0, low - NEAR) : high + NEAR]
    blocks = part.shape[1] // NEAR
    may = [True] * len(several)
    if blocks >= 2:
        whole = np.add.reduce(part[:, : blocks * NEAR].reshape(len(several), blocks, NEAR), axis=2) / NEAR
        few = np.add.reduce(part[:, -MARGIN:], axis=1)[:, None] / MARGIN  # the last cuts have few points behind them
        mean = np.concatenate((whole, few), axis=1)
        before = np.concatenate((mean[:, :-2], mean[:, -2:-1]), axis=1)
        after = np.concatenate((mean[:, 2:], mean[:, -1:]), axis=1)
        apart = np.abs(after - before)
        far = (apart >= PART * by * np.maximum(np.abs(before), np.abs(after))).any(axis=1)
        most, beside = apart.max(axis=1), x[:, max(0, low - NOISE_POINTS) : high + NOISE_POINTS]
        may = [bool(far[i]) and bool(most[i] > PART * CLEAR * noise(beside[i])) for i in range(len(several))]
    return [one.since_row(int(one.rows[reach])) if seen else None for one, seen in zip(several, may, strict=True)]


def _cuts(series: Series, first: int, last: int) -> tuple[int, int]:
    """Indices of the first and the last cut from one step to another that leave points on both sides."""
    low = max(MARGIN, int(series.steps.searchsorted(first)))
    return low, min(len(series.steps) - MARGIN, int(series.steps.searchsorted(last, "right")) - 1)


FEW_BESIDE, GOES_ON = 3, 2.0
"""Evaluations on each side of a jump that show both levels, and the number of standard errors from which on a further
move shows."""


def step_of_few(series: Series, first: int, last: int) -> Shift | None:
    """The clearest jump between two evaluations, if there are too few for levels of ten points. The means of three on
    each side differ by 4 standard errors, most of that lies between the two, and the newest go no further: a slow
    decline has such a step by chance."""
    x, sides = series.values, FEW_BESIDE
    if len(x) >= 2 * NEAR:
        return None
    sd = noise_of_few(x)
    newest = float(x[-sides:].mean())
    found: Shift | None = None
    for at in range(sides, len(x) - sides + 1):
        if not first <= series.steps[at] <= last:
            continue
        before, after = float(x[at - sides : at].mean()), float(x[at : at + sides].mean())
        moved, whole = float(x[at] - x[at - 1]), after - before
        if abs(whole) <= CLEAR * sd * sqrt(2.0 / sides) or moved * whole <= 0 or abs(moved) < ALL_BUT * abs(whole):
            continue
        further = (newest - after) * (1.0 if whole > 0 else -1.0)
        if further > GOES_ON * sd * sqrt(2.0 / sides):
            continue
        if found is None or abs(whole) > abs(found.after - found.before):
            found = Shift(int(series.steps[at]), before, after)
    return found


def _levels(x: Floats, first: int, last: int) -> Floats:
    """Medians of the ten points before each of these places; of fewer at the ends of the series."""
    ahead, behind = max(0, NEAR - first), max(0, last - len(x))
    part = np.concatenate((np.full(ahead, np.nan), x[max(0, first - NEAR) : last], np.full(behind, np.nan)))
    return column_medians(windows(part, NEAR).T)


ON_ITS_WAY, FOLLOWS = 0.25, 0.5
"""Shares of a jump: the most that may already be gone right before it, and the most that may follow it or be undone."""
AFTERWARDS = 20
"""Rows after a jump that show whether it goes on."""


def stands_on_both_sides(x: Floats, steps: Ints, shift: Shift) -> bool:
    """Whether a metric was still at its old level right before it jumped, and has hardly moved since, on or back."""
    at, jump = int(steps.searchsorted(shift.step)), shift.after - shift.before
    since = x[at : at + AFTERWARDS]
    if at < BESIDE or not len(since):
        return False
    before, later = median(x[at - BESIDE : at]), median(since[len(since) // 2 :])
    first = median(since[:BESIDE])
    return bool(abs(before - shift.before) <= ON_ITS_WAY * abs(jump) and abs(later - first) <= FOLLOWS * abs(jump))
