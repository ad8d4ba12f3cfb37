"""Rows in which the reward was not measured: its source failed, and every answer got the same reward.

A policy does not lose all of its reward from one row to the next while it writes as before, nor does it learn all of it
in one: where the reward does so, it is the grader. Nor do all answers of batch after batch earn one and the same number
where they never did before, unless it is the highest and was near: that is what a grader gives by default. What such
rows say of rewards, advantages and gradients is no fact of the run: `Look.series` leaves them out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Protocol

import numpy as np

from rltui.evidence.trends import sd_d, sd_m
from rltui.frameworks.load import metrics
from rltui.run.sums import median
from rltui.run.table import Floats, Ints, Series

MOST = 1000
"""Stretches that are looked at: a reward that is at its floor more often is a sparse one."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring points `begin` to `end` (not included) of the reward that hold one and the same value, the `lowest`
    so far or one that all answers got where they never agreed before; `alike`: all answers of the first one got the
    same, so that of the lowest value it tells without a second."""

    begin: int
    end: int
    value: float
    alike: bool
    lowest: bool = True


@dataclass(slots=True)
class Stretches:
    """Where one reward stood at the lowest value so far: twice or more in a row, or once if the batch had no spread. Or
    at another value, twice or more in a row, in batches without spread behind batches with one: the highest value only
    if it was far away."""

    found: list[Stretch] = field(default_factory=list)
    _seen: int = 0  # points
    _lowest: float | None = inf  # of them; None: not known
    _highest: float = -inf  # of them and of their batches, if the lowest is known

    def take(self, reward: Series, spread: Series | None, most: Series | None) -> None:
        """Takes up the points that are new: the first ones are those seen before. `spread` of the reward in a batch is
        0 and its highest, `most`, is the mean if all answers got the same."""
        if len(reward) == self._seen:
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

    def _by_default(
        self, reward: Series, begin: int, agreed: Mask, same: Mask, spread: Series | None, most: Series | None
    ) -> Mask:
        """Points from `begin` on at which all answers of one batch after the other got one number, behind batches that
        had a spread. The highest number may be earned by all, but not from one row to the next."""
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
            fresh = not _agreed(rows, x, spread, most).any() and (
                reward.values[at] < highest[a] or _leapt(x, highest[a])
            )
            if fresh or (goes_on and a == 0):
                still = np.flatnonzero(~pairs[a:])
                out[a : a + 1 + (int(still[0]) if len(still) else len(pairs) - a)] = True
        return out

    def forget(self, points: int) -> None:
        """Only the first `points` points are what they were."""
        if points >= self._seen:
            return
        while self.found and self.found[-1].end >= points:
            points = min(points, self.found.pop().begin)
        self._seen, self._lowest = points, None


def _agreed(rows: Ints, x: Floats, spread: Series | None, most: Series | None) -> Mask:
    """Rows in which all answers got the same."""
    out: Mask = (on_rows(rows, spread) == 0.0) | (on_rows(rows, most) == x)
    return out


def _leapt(before: Floats, value: float) -> bool:
    """A value that the points before it are nowhere near."""
    if len(before) < BEFORE // 2:
        return False
    return value - median(before) > BAND * max(sd_d(before), sd_m(before))


def _most(reward: Series, begin: int, end: int | None, most: Series | None) -> float:
    """The highest reward of some points, of a single answer if that is logged."""
    x, rows = reward.values[begin:end], reward.rows[begin:end]
    single = on_rows(rows, most)
    return max(float(x.max(initial=-inf)), float(np.nanmax(single, initial=-inf)) if len(single) else -inf)


def on_rows(rows: Ints, series: Series | None) -> Floats:
    """Values of another series in these rows, NaN if it has none there."""
    out: Floats = np.full(len(rows), np.nan)
    if series is not None and len(series):
        place = np.minimum(series.rows.searchsorted(rows), len(series) - 1)
        held = series.rows[place] == rows
        out[held] = series.values[place[held]]
    return out


POLICY = ("entropy", "kl_ref", "response_length_mean")
"""What the policy itself does, whoever grades it."""
UPDATE = ("grad_norm", "pg_loss", "total_loss", "vf_loss")
"""What an update makes of the rewards."""
BEFORE = 20
"""Points before that say how it stood; at least half of them must be there."""
FIRST = 10
"""First points of an outage at which the policy is looked at: without a reward it drifts on its penalties alone."""
CLEAR = 4.0
"""Sd of the noise that the fall has to be; half of that if several batches hold the same reward to the last digit."""
SEVERAL = 3
BETWEEN = 2
"""Points between two stretches of one outage: batches of which the source graded a few answers."""
KNOWN = BETWEEN + 2
"""Points behind a stretch by which it is known whether another one follows."""
MOVED = 0.25
"""Part of its level that a signal of the policy has to change by, beyond `CLEAR` sd of its noise, to have moved. A
policy that broke changes by factors."""
BAND = 3.0
"""Sd of the noise within which a point belongs to the level before."""
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Outage:
    """Rows of the table `first_row` to `last_row`, both included, of which `exact` hold the reward `value` to the last
    digit: the first and last row may hold batches of both kinds. `since`: the step of the first of them; `lasts`: the
    newest reward is one of them; `of`: the metric of the reward."""

    first_row: int
    last_row: int
    since: int
    exact: int
    value: float
    level: float
    lasts: bool
    of: str

    def hides(self, series: Series, group: str, name: str | None) -> Mask:
        """Points that rewards went into; of held-out scores only what the same grader made the lowest reward."""
        out = np.zeros(len(series), dtype=np.bool_)
        if group in ("reward", "validation") or name in UPDATE:
            first = self.first_row - (group == "validation")  # behind the update of the row before
            a, b = series.rows.searchsorted(first), series.rows.searchsorted(self.last_row, "right")
            out[a:b] = group == "reward" or name in UPDATE or series.values[a:b] == self.value
        return out


Points = Callable[[str], Series | None]


class RewardSource:
    """What is known of the source of one reward. What lies behind a stretch at the lowest value decides whether it
    failed there: that is found out once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stretches = Stretches()
        self._decided: list[Outage | None] = []  # of the first stretches
        self._failed: list[Outage] = []  # the outages among them

    def take(self, reward: Series, spread: Series | None, most: Series | None) -> None:
        """Takes up new points, as `Stretches.take`."""
        self._stretches.take(reward, spread, most)

    def forget(self, points: int) -> None:
        """Only the first `points` points of the reward, and the rows up to there, are what they were."""
        self._stretches.forget(points)
        del self._decided[self._over(points) :]
        self._failed = [one for one in self._decided if one is not None]

    def outages(self, reward: Series, logged: Points) -> tuple[Outage, ...]:
        """The stretches at which the source failed, oldest first. `reward`: the points known by now; `logged`: the
        points of any metric known by now, those that are not finite included."""
        found, n = self._stretches.found, len(reward)
        over = self._over(n)
        for i in range(len(self._decided), over):
            outage = _outage(self._name, reward, found[i:], self._failed, logged)
            self._decided.append(outage)
            if outage is not None:
                self._failed.append(outage)
        out = [one for one in self._decided[:over] if one is not None] if over < len(self._decided) else self._failed
        for i in range(over, len(found)):
            if found[i].begin >= n:
                break
            outage = _outage(self._name, reward, found[i:], out, logged)
            out = out if outage is None else [*out, outage]
        return tuple(out)

    def _over(self, n: int) -> int:
        """How many stretches are over, and will not become one with a later one, if `n` points are known."""
        found = self._stretches.found
        over = bisect_right(found, n - KNOWN, key=_end)
        while 0 < over < len(found) and found[over].begin < n and found[over].begin - found[over - 1].end <= BETWEEN:
            over -= 1
        return over


class OutageCache:
    """The sources of rewards, by name. Valid until a row in the past changes."""

    def __init__(self) -> None:
        self._sources: dict[str, RewardSource] = {}

    def get(self, name: str, reward: Series, spread: Series | None, most: Series | None) -> RewardSource:
        """The source of a reward with all of its points."""
        source = self._sources.setdefault(name, RewardSource(name))
        source.take(reward, spread, most)
        return source

    def names(self) -> set[str]:
        return set(self._sources)

    def forget(self, name: str, points: int) -> None:
        """Only the first `points` points of a reward are what they were."""
        self._sources[name].forget(points)

    def clear(self) -> None:
        self._sources.clear()


def _end(one: Stretch) -> int:
    return one.end


def _holds(one: Stretch, n: int) -> bool:
    """Whether it is one already, of `n` points."""
    points = min(one.end, n) - one.begin
    return one.begin < n and (points > 1 or one.alike) and (one.lowest or points >= SEVERAL)


def _outage(name: str, reward: Series, found: Sequence[Stretch], before: list[Outage], logged: Points) -> Outage | None:
    """What the first stretch is behind the outages `before`, with those that follow it at once; None if it is none."""
    one, x, rows = found[0], reward.values, reward.rows
    begin, end = one.begin, min(one.end, len(x))
    if not _holds(one, len(x)) or (before and rows[begin] <= before[-1].last_row):
        return None
    recent = _points_before(begin, rows, before)
    if not _usual(x[recent]):  # the row in which it began holds batches of both kinds
        recent, begin = recent[:-1], begin - 1
        if not _usual(x[recent]):
            return None
    if len(recent) < BEFORE // 2:
        return None
    stood = x[recent]
    level, sd = median(stood), max(sd_d(stood), sd_m(stood))
    fall = level - one.value
    clear = CLEAR if end - one.begin < SEVERAL else CLEAR / 2
    if (one.lowest and fall <= clear * sd) or bool((stood == one.value).any()):
        return None
    least = level - fall / 2
    way = 1.0 if fall >= 0 else -1.0  # to the lowest number, or to a higher one
    end, exact = _with_others(way * x, replace(one, value=way * one.value), found[1:], way * least, way)
    after = x[end : end + SEVERAL]
    over = len(after) == SEVERAL
    if over and abs(fall) > clear * sd and way * median(after) < way * least:
        return None  # it has to be learnt again, or was learnt
    if not _by_source(rows[recent], rows[one.begin : end][:FIRST], over, logged):
        return None
    partial = len(after) > 0 and way * (level - after[0]) > max(BAND * sd, abs(fall) / 10)
    last = end if partial else end - 1
    since, lasts = int(reward.steps[one.begin]), end == len(x)
    return Outage(int(rows[begin]), int(rows[last]), since, exact, one.value, level, lasts, name)


def _with_others(x: Floats, one: Stretch, others: Sequence[Stretch], least: float, way: float) -> tuple[int, int]:
    """End of a stretch together with those that follow it at once, and how many points they hold, if the reward came
    back behind them, to `least`, or if all answers got the same in each. Else its own: a reward that does not come back
    may be lost for good."""
    own = min(one.end, len(x))
    end, exact, alike = own, own - one.begin, one.alike
    for other in others:
        near = other.begin - end <= BETWEEN and way * other.value == one.value and _holds(other, len(x))
        if not near or float(x[end : other.begin].max()) >= least:
            break
        end = min(other.end, len(x))
        exact += end - other.begin
        alike &= other.alike
    after = x[end : end + SEVERAL]
    came_back = len(after) == SEVERAL and median(after) >= least
    return (end, exact) if came_back or alike else (own, own - one.begin)


def _points_before(begin: int, rows: Ints, outages: list[Outage]) -> Ints:
    """The newest points before `begin` that are in no outage, at most `BEFORE`."""
    parts: list[Ints] = []
    missing, end = BEFORE, begin
    for one in reversed(outages):
        if missing <= 0:
            break
        first, behind = int(rows.searchsorted(one.first_row)), int(rows.searchsorted(one.last_row, "right"))
        parts.append(np.arange(max(behind, end - missing), end))
        missing, end = missing - len(parts[-1]), min(end, first)
    parts.append(np.arange(max(0, end - missing), end))
    return np.concatenate(parts[::-1])


def _usual(x: Floats) -> bool:
    """The newest point lies where those before it do."""
    before = x[:-1]
    if len(before) < SEVERAL:
        return False
    return bool(abs(x[-1] - median(before)) <= BAND * max(sd_d(before), sd_m(before)))


def _by_source(before: Ints, during: Ints, over: bool, logged: Points) -> bool:
    """The policy goes on as before. If nothing of it is logged, that the reward came back at once must say so."""
    moved = policy_moved(before, during, logged)
    return over if moved is None else not moved


def policy_moved(before: Ints, during: Ints, logged: Points) -> bool | None:
    """Whether the policy itself is another one in the rows `during` than in those `before`, or its update broke; None
    if nothing of it is logged."""
    seen = False
    for name in (*UPDATE, *POLICY):
        series = logged(name)
        if series is None:
            continue
        was, now = _of(series, before), _of(series, during)
        if not np.isfinite(now).all():
            return True  # the update broke
        was = was[np.isfinite(was)]
        if name in UPDATE or not len(now) or len(was) < BEFORE // 4:
            continue
        seen = True
        change, least = median(now) - median(was), max(CLEAR * sd_d(was), MOVED * abs(median(was)))
        if abs(change) > least and abs(change - _under_way(was, len(now))) > least:
            return True
    return False if seen else None


def _under_way(was: Floats, points: int) -> float:
    """How much of a change to the next points was to come anyway: the KL of a young run grows from row to row."""
    half = len(was) // 2
    if half < BEFORE // 4:
        return 0.0
    return (median(was[-half:]) - median(was[:half])) / half * (len(was) + points) / 2


def _of(series: Series, rows: Ints) -> Floats:
    return series.values[series.rows.searchsorted(rows[0]) : series.rows.searchsorted(rows[-1], "right")]


class Gap(Protocol):
    """Rows in which rewards were not measured, or not in the measure that counts now."""

    @property
    def first_row(self) -> int: ...

    def hides(self, series: Series, group: str, name: str | None) -> Mask:
        """Points of a metric of this group and canonical name, if it has one, that are left out."""


def without(series: Series, name: str | None, gaps: Sequence[Gap]) -> Series:
    """A metric without its points that lie in a gap. `name`: the canonical one, None if it is not known."""
    if not gaps:
        return series
    meaning = metrics().get(name or "")
    keep = np.ones(len(series), dtype=np.bool_)
    for one in gaps:
        keep &= ~one.hides(series, meaning.group if meaning is not None else "", name)
    if keep.all():
        return series
    return series.where(keep)
