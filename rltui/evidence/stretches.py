"""Where a reward stands at its lowest value: found once, and again only in the points that are new."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np

from rltui.run.table import Floats, Ints, Series

MOST = 1000
"""Stretches that are looked at: a reward that is at its floor more often is a sparse one."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring points `begin` to `end` (not included) of the reward that hold one and the same lowest value;
    `alike`: all answers of the first one got the same, so that it tells without a second."""

    begin: int
    end: int
    value: float
    alike: bool


@dataclass(slots=True)
class Stretches:
    """Where one reward stood at the lowest value so far: twice or more in a row, or once if the batch had no spread."""

    found: list[Stretch] = field(default_factory=list)
    _seen: int = 0  # points
    _lowest: float | None = inf  # of them; None: not known

    def take(self, reward: Series, spread: Series | None, most: Series | None) -> None:
        """Takes up the points that are new: the first ones are those seen before. `spread` of the reward in a batch is
        0 and its highest, `most`, is the mean if all answers got the same."""
        if len(reward) == self._seen:
            return
        if self._lowest is None:
            self._lowest = float(reward.values[: self._seen].min(initial=inf))
        if self._seen and float(reward.values[self._seen :].min()) > self._lowest:
            self._seen = len(reward)
            return
        begin = max(0, self._seen - 1)  # the last of them may be the first of several
        x, rows = reward.values[begin:], reward.rows[begin:]
        same = x[1:] == x[:-1]
        agreed = (on_rows(rows, spread) == 0.0) | (on_rows(rows, most) == x)
        flat = agreed.copy()
        flat[1:] |= same
        flat[:-1] |= same
        flat &= x <= np.minimum(np.minimum.accumulate(x), self._lowest)
        before = self.found[-1] if self.found and self.found[-1].end == self._seen else None
        flat[0] = before is not None or (begin > 0 and flat[0])
        joined = flat[1:] & flat[:-1] & same
        starts = np.flatnonzero(flat & ~np.concatenate(([False], joined)))[:MOST].tolist()
        ends = np.flatnonzero(flat & ~np.concatenate((joined, [False])))[:MOST].tolist()
        fresh = [
            Stretch(begin + a, begin + b + 1, float(x[a]), bool(agreed[a])) for a, b in zip(starts, ends, strict=True)
        ]
        if before is not None:
            self.found[-1] = Stretch(before.begin, fresh.pop(0).end, before.value, before.alike)
        self.found += fresh[: MOST - len(self.found)]
        self._seen, self._lowest = len(reward), min(self._lowest, float(x.min()))

    def forget(self, points: int) -> None:
        """Only the first `points` points are what they were."""
        if points >= self._seen:
            return
        while self.found and self.found[-1].end >= points:
            points = min(points, self.found.pop().begin)
        self._seen, self._lowest = points, None


def on_rows(rows: Ints, series: Series | None) -> Floats:
    """Values of another series in these rows, NaN if it has none there."""
    out: Floats = np.full(len(rows), np.nan)
    if series is not None and len(series):
        place = np.minimum(series.rows.searchsorted(rows), len(series) - 1)
        held = series.rows[place] == rows
        out[held] = series.values[place[held]]
    return out
