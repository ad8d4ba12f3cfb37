"""Rows in which the reward was not measured: its source failed, and every answer got the same reward.

A policy does not lose all of its reward from one row to the next while it writes as before, and does not learn all of
it back in one row. If that happens, the grader is the cause. The answers of consecutive batches do not suddenly all
earn one and the same number either, unless it is the highest and they approached it gradually: a grader gives such a
number by default. In these rows, rewards, advantages and gradients are not facts of the run: `Look.series` leaves them
out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import log
from typing import Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rltui.evidence.stretches import BEFORE, CLEAR, SEVERAL, Mask, Stretch, Stretches
from rltui.evidence.trends import sd_d, sd_m
from rltui.frameworks.load import metrics
from rltui.run.sums import median, quantile
from rltui.run.table import Floats, Ints, Series

POLICY = ("entropy", "kl_ref", "response_length_mean")
"""Metrics of the policy itself, independent of the grader."""
UPDATE = ("grad_norm", "pg_loss", "total_loss", "vf_loss")
"""Metrics of the update, which depend on the rewards."""
FIRST = 10
"""The number of points of an outage that show the policy: without a reward it drifts on its penalties alone."""
HUGE = 10.0
"""Log of a factor beyond which nothing is predicted."""
BETWEEN = 2
"""Points between two stretches of one outage: batches in which the source graded a few answers."""
KNOWN = BETWEEN + 2
"""Points after a stretch by which it is known whether another one follows."""
MOVED = 0.25
"""Share of its level by which a signal of the policy has to change, beyond `CLEAR` sd of its noise, to have moved. A
policy that broke changes by factors."""
USUAL, RARE = 50, 0.05
"""Rows that show how far a signal of the policy jumps by itself, and the share of them that counts as rare. A single
answer may make the mean KL of a batch ten times the usual one, which the noise from row to row does not show."""
FEWEST = BEFORE // 4
"""Points of each half before that show where they were going."""
BAND = 3.0
"""Sd of the noise within which a point belongs to the level before."""


class Outage(Struct, frozen=True):
    """Rows of the table `first_row` to `last_row`, both included, of which `exact` hold the reward `value` to the last
    digit: the first and last row may hold batches of both kinds. `since`: the step of the first exact row. `level`: the
    reward before. `lasts`: the newest reward is in the outage. `of`: the metric of the reward."""

    first_row: int
    last_row: int
    since: int
    exact: int
    value: float
    level: float
    lasts: bool
    of: str

    def hides(self, series: Series, group: str, name: str | None) -> Mask:
        """Points that depend on rewards; of held-out scores only those at the lowest reward, as the same grader failed
        there."""
        out = np.zeros(len(series), dtype=np.bool_)
        if group in ("reward", "validation") or name in UPDATE:
            first = self.first_row - (group == "validation")  # measured after the update of the row before
            a, b = series.rows.searchsorted(first), series.rows.searchsorted(self.last_row, "right")
            out[a:b] = group == "reward" or name in UPDATE or series.values[a:b] == self.value
        return out


Points = Callable[[str], Series | None]


class RewardSource:
    """What is known of the source of one reward. What follows a stretch at the lowest value decides whether the source
    failed there. That is determined once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stretches = Stretches()
        self._decided: list[Outage | None] = []  # for the first stretches
        self._failed: list[Outage] = []  # the outages among them

    def take(self, reward: Series, spread: Series | None, most: Series | None) -> None:
        """Takes up new points, as `Stretches.take`."""
        self._stretches.take(reward, spread, most)

    def forget(self, points: int) -> None:
        """Forgets all but the first `points` points of the reward, and the rows up to there, the only ones that are
        unchanged."""
        self._stretches.forget(points)
        del self._decided[self._over(points) :]
        self._failed = [one for one in self._decided if one is not None]

    def outages(self, reward: Series, logged: Points) -> tuple[Outage, ...]:
        """The stretches at which the source failed, oldest first. `reward`: the points known by now. `logged`: the
        points of any metric known by now, including non-finite ones."""
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
        """The number of stretches that are over and cannot join with a later one, if `n` points are known."""
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
        """Forgets all but the first `points` points of a reward, the only ones that are unchanged."""
        self._sources[name].forget(points)

    def clear(self) -> None:
        self._sources.clear()


def _end(one: Stretch) -> int:
    return one.end


def _holds(one: Stretch, n: int) -> bool:
    """Whether `one` already counts as a stretch, given `n` points."""
    points = min(one.end, n) - one.begin
    return one.begin < n and (points > 1 or one.alike) and (one.lowest or points >= SEVERAL)


def _outage(name: str, reward: Series, found: Sequence[Stretch], before: list[Outage], logged: Points) -> Outage | None:
    """The outage that the first stretch begins, after the outages `before`, including stretches that follow at once;
    None if it is not an outage."""
    one, x, rows = found[0], reward.values, reward.rows
    begin, end = one.begin, min(one.end, len(x))
    if not _holds(one, len(x)) or (before and rows[begin] <= before[-1].last_row):
        return None
    recent = _points_before(begin, rows, before)
    if not _usual(x[recent], one.value):  # the row in which it began holds batches of both kinds
        recent, begin = recent[:-1], begin - 1
        if not _usual(x[recent], one.value):
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
        return None  # the reward has to be learnt again, or was learnt
    if not _by_source(rows[recent], rows[one.begin : end][:FIRST], over, logged):
        return None
    partial = len(after) > 0 and way * (level - after[0]) > max(BAND * sd, abs(fall) / 10)
    last = end if partial else end - 1
    since, lasts = int(reward.steps[one.begin]), end == len(x)
    return Outage(int(rows[begin]), int(rows[last]), since, exact, one.value, level, lasts, name)


def _with_others(x: Floats, one: Stretch, others: Sequence[Stretch], least: float, way: float) -> tuple[int, int]:
    """The end of a stretch together with those that follow it at once, and how many points they hold, if the reward
    came back after them (to `least`), or if all answers got the same in each. Else its own end: a reward that does not
    come back may be lost for good."""
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
    """The newest points before `begin` that are not in an outage, at most `BEFORE`."""
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


def _usual(x: Floats, value: float) -> bool:
    """Whether the newest point lies where those before it do, or is off by at most a tenth of the way to `value`. If
    the reward rises, the point is compared with the newest of those before."""
    before = x[:-1]
    if len(before) < SEVERAL:
        return False
    band = BAND * max(sd_d(before), sd_m(before))
    level, newest = median(before), median(before[-SEVERAL:])
    return bool(
        abs(x[-1] - level) <= max(band, abs(level - value) / 10) or (level < newest and abs(x[-1] - newest) <= band)
    )


def _by_source(before: Ints, during: Ints, over: bool, logged: Points) -> bool:
    """Whether the policy goes on as before. If no metric of it is logged, the reward must have come back at
    once (`over`)."""
    moved = policy_moved(before, during, logged)
    return over if moved is None else not moved


def policy_moved(before: Ints, during: Ints, logged: Points, fewest: int = FEWEST) -> bool | None:
    """Whether the policy itself differs between the rows `during` and those `before`, or its update broke; None if no
    metric of it is logged."""
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
        expected, clear = _expected(was, len(now), fewest), CLEAR * sd_d(was)
        room = [max(clear, MOVED * abs(level)) for level in expected]
        lowest = min(level - least for level, least in zip(expected, room, strict=True))
        highest = max(level + least for level, least in zip(expected, room, strict=True))
        if not lowest <= median(now) <= highest and not _jumps_so(series, before, median(now)):
            return True
    return False if seen else None


def _jumps_so(series: Series, before: Ints, value: float) -> bool:
    """Whether the signal sometimes had such values before."""
    end = int(series.rows.searchsorted(before[-1], "right"))
    past = series.values[max(0, end - USUAL) : end]
    past = past[np.isfinite(past)]
    enough = len(past) >= USUAL // 2
    return enough and quantile(past, RARE) <= value <= quantile(past, 1.0 - RARE)


def _expected(was: Floats, points: int, fewest: int) -> list[float]:
    """Where the next points lie if nothing happens: where the newest ones lay, or further on as they went from row to
    row, or by a factor, as the KL of a young run goes."""
    level, half = median(was), len(was) // 2
    if half < fewest:
        return [level]
    first, last, times = median(was[:half]), median(was[-half:]), (len(was) + points) / 2 / half
    out = [level, level + (last - first) * times]
    if first > 0 and last > 0 and (times * log(last / first)) < HUGE:
        out.append(level * (last / first) ** times)
    return out


def _of(series: Series, rows: Ints) -> Floats:
    return series.values[series.rows.searchsorted(rows[0]) : series.rows.searchsorted(rows[-1], "right")]


class Gap(Protocol):
    """Rows in which rewards were not measured, or not in the current measure."""

    @property
    def first_row(self) -> int: ...

    def hides(self, series: Series, group: str, name: str | None) -> Mask:
        """Points to leave out, for a metric of this group and canonical name (if it has one)."""


def without(series: Series, name: str | None, gaps: Sequence[Gap]) -> Series:
    """A metric without its points in a gap. `name`: the canonical one, None if it is not known."""
    if not gaps:
        return series
    meaning = metrics().get(name or "")
    keep = np.ones(len(series), dtype=np.bool_)
    for one in gaps:
        keep &= ~one.hides(series, meaning.group if meaning is not None else "", name)
    if keep.all():
        return series
    return series.where(keep)
