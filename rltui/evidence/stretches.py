"""Stretches of rows in which a reward stays at one number: its lowest, or one that all answers of a batch got."""

from __future__ import annotations

from math import inf

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from rltui.evidence.trends import sd_d, sd_m
from rltui.run.sums import median
from rltui.run.table import Floats, Ints, Series

MOST = 1000
"""The most stretches that are looked at: a reward that is at its floor more often is sparse."""
BEFORE = 20
"""Points before that show the earlier level; at least half of them must be there."""
CLEAR = 4.0
"""How many sd of the noise the fall has to be; half of that if several batches hold the same reward to the last digit.
"""
SEVERAL = 3
LEAP = 0.25
"""Share of the way from its lowest to its highest value that no reward learns in one row."""
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


class Stretch(Struct, frozen=True):
    """Neighbouring points `begin` to `end` (not included) at which the reward has the same value: the `lowest` so far,
    or one that all answers got although they never agreed before. `alike`: all answers of the first point got the same,
    so that a single point at the lowest value is enough."""

    begin: int
    end: int
    value: float
    alike: bool
    lowest: bool = True


class Stretches(Struct):
    """The stretches in which one reward had its lowest value so far: at least twice in a row, or once if the batch had
    no spread. Also those at another value below the highest, at least twice in a row, in batches without spread that
    follow batches with one."""

    found: list[Stretch] = field(default_factory=list)
    _seen: int = 0  # points seen so far
    _lowest: float | None = inf  # the lowest of them; None: not known
    _highest: float = -inf  # the highest of them and of their batches, if the lowest is known

    def take(self, reward: Series, spread: Series | None, most: Series | None) -> None:
        """Takes up the new points; the first ones must be those seen before. All answers of a batch got the same if the
        `spread` of its rewards is 0 or its highest reward, `most`, is the mean."""
        if len(reward) == self._seen:
            return
        if self._passes(reward, spread, most):
            return
        if self._lowest is None:
            self._lowest = float(reward.values[: self._seen].min(initial=inf))
            self._highest = _most(reward, 0, self._seen, most)
        begin = max(0, self._seen - 1)  # the last of them may be the first of several
        x, rows = reward.values[begin:], reward.rows[begin:]
        same = x[1:] == x[:-1]
        agreed = _agreed(rows, x, spread, most)
        flat = agreed.copy()
        flat[1:] |= same
        flat[:-1] |= same
        lowest = flat & (x <= np.minimum(np.minimum.accumulate(x), self._lowest))
        flat = lowest | self._by_default(reward, begin, agreed, same, spread, most)
        before = self.found[-1] if self.found and self.found[-1].end == self._seen else None
        flat[0] = before is not None or (begin > 0 and flat[0])
        joined = flat[1:] & flat[:-1] & same
        starts = np.flatnonzero(flat & ~np.concatenate(([False], joined)))[:MOST].tolist()
        ends = np.flatnonzero(flat & ~np.concatenate((joined, [False])))[:MOST].tolist()
        fresh = [
            Stretch(begin + a, begin + b + 1, float(x[a]), bool(agreed[a]), bool(lowest[a]))
            for a, b in zip(starts, ends, strict=True)
        ]
        if before is not None:
            self.found[-1] = replace(before, end=fresh.pop(0).end)
        self.found += fresh[: MOST - len(self.found)]
        self._lowest, self._highest = (
            min(self._lowest, float(x.min())),
            max(self._highest, _most(reward, begin, None, most)),
        )
        self._seen = len(reward)

    def _passes(self, reward: Series, spread: Series | None, most: Series | None) -> bool:
        """Takes up a single point that neither continues a stretch nor is one by itself, as nearly all do."""
        if len(reward) != self._seen + 1 or self._lowest is None or not self._seen:
            return False
        x, row = float(reward.values[-1]), int(reward.rows[-1])
        high = value_on(row, most)
        if x == reward.values[-2] or high == x or value_on(row, spread) == 0.0:
            return False
        self._lowest, self._highest = min(self._lowest, x), max(self._highest, x, -inf if high is None else high)
        self._seen += 1
        return True

    def _by_default(
        self, reward: Series, begin: int, agreed: Mask, same: Mask, spread: Series | None, most: Series | None
    ) -> Mask:
        """Marks points from `begin` on at which all answers of consecutive batches got one number, after batches that
        had a spread. All may have earned the highest number, unless it came at once."""
        out = np.zeros(len(agreed), dtype=np.bool_)
        pairs = same & agreed[1:] & agreed[:-1]
        if not pairs.any():
            return out
        single = np.fmax(reward.values[begin:], on_rows(reward.rows[begin:], most))
        highest = np.maximum(np.maximum.accumulate(single), self._highest)
        goes_on = bool(self.found) and self.found[-1].end == self._seen and not self.found[-1].lowest
        for a in np.flatnonzero(pairs & ~np.concatenate(([False], pairs[:-1])))[:MOST].tolist():
            at = begin + a
            first = max(0, at - BEFORE)
            rows, x = reward.rows[first:at], reward.values[first:at]
            lowest = float(reward.values[:at].min(initial=reward.values[at]))
            learnt = reward.values[at] >= highest[a] and not _leapt(reward.values[at], x, lowest)
            fresh = not learnt and not _agreed(rows, x, spread, most).any()
            if fresh or (goes_on and a == 0):
                still = np.flatnonzero(~pairs[a:])
                out[a : a + 1 + (int(still[0]) if len(still) else len(pairs) - a)] = True
        return out

    def forget(self, points: int) -> None:
        """Forgets all but the first `points` points, the only ones that are unchanged."""
        if points >= self._seen:
            return
        while self.found and self.found[-1].end >= points:
            points = min(points, self.found.pop().begin)
        self._seen, self._lowest = points, None


def _leapt(value: float, before: Floats, lowest: float) -> bool:
    """Whether a value lies far above all just before it: no update teaches so much to all answers of a batch."""
    if len(before) < BEFORE // 2:
        return False
    leap = value - median(before[-SEVERAL:])
    return leap > CLEAR * max(sd_d(before), sd_m(before)) and leap >= LEAP * (value - lowest)


def _agreed(rows: Ints, x: Floats, spread: Series | None, most: Series | None) -> Mask:
    """Marks the rows in which all answers got the same."""
    out: Mask = (on_rows(rows, spread) == 0.0) | (on_rows(rows, most) == x)
    return out


def _most(reward: Series, begin: int, end: int | None, most: Series | None) -> float:
    """The highest reward of some points, taken from single answers if those are logged."""
    x, rows = reward.values[begin:end], reward.rows[begin:end]
    single = on_rows(rows, most)
    return max(float(x.max(initial=-inf)), float(np.nanmax(single, initial=-inf)) if len(single) else -inf)


def value_on(row: int, series: Series | None) -> float | None:
    """The value of another series in a row, None if it has none there."""
    if series is None or not len(series):
        return None
    at = len(series) - 1 if series.rows[-1] <= row else int(series.rows.searchsorted(row))
    return float(series.values[at]) if series.rows[at] == row else None


def on_rows(rows: Ints, series: Series | None) -> Floats:
    """Values of another series in these rows, NaN if it has none there."""
    if series is not None and _alike_throughout(rows, series.rows):
        return series.values
    out: Floats = np.empty(len(rows))
    out.fill(np.nan)
    if series is not None and len(series.rows):
        place = np.minimum(series.rows.searchsorted(rows), len(series.rows) - 1)
        held = series.rows[place] == rows
        out[held] = series.values[place[held]]
    return out


def _alike_throughout(rows: Ints, others: Ints) -> bool:
    """Whether both are the same rows without a hole, as for nearly all metrics. Compares only their ends."""
    count = len(rows)
    if not count or len(others) != count:
        return False
    first, last = rows[0], rows[count - 1]
    return bool(last - first == count - 1 and others[0] == first and others[count - 1] == last)
