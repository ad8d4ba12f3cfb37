"""Rows in which the reward was not measured: its source failed, and every answer got the same lowest reward.

A policy does not lose all of its reward from one row to the next while it writes as before, nor does it learn all of it
back in one: where the reward does so, it is the grader. What such rows say of rewards, advantages and gradients is no
fact of the run: `Look.series` leaves them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rltui.evidence.trends import sd_d, sd_m
from rltui.frameworks.load import metrics
from rltui.run.sums import median
from rltui.run.table import Floats, Ints, Series

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
MOVED = 0.25
"""Part of its level that a signal of the policy has to change by, beyond `CLEAR` sd of its noise, to have moved. A
policy that broke changes by factors."""
BAND = 3.0
"""Sd of the noise within which a point belongs to the level before."""
MOST = 1000
"""Stretches that are looked at: a reward that is at its floor more often is a sparse one."""


@dataclass(frozen=True, slots=True)
class Outage:
    """Rows of the table `first_row` to `last_row`, both included, of which `exact` hold the reward `value` to the last
    digit: the first and last row may hold batches of both kinds. `since`: the step of the first of them; `lasts`: the
    newest reward is one of them."""

    first_row: int
    last_row: int
    since: int
    exact: int
    value: float
    level: float
    lasts: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring points `begin` to `end` (not included) of the reward that hold one and the same lowest value;
    `alike`: all answers of the first one got the same, so that it tells without a second."""

    begin: int
    end: int
    value: float
    alike: bool


def stretches(reward: Series, *alike: Series | None) -> list[Stretch]:
    """Where a reward stood at the lowest value so far: twice or more in a row, or once if the batch had no spread.
    `alike`: its spread, which is then 0, and its highest, which is then the mean."""
    x = reward.values
    if len(x) < 2:
        return []
    same = x[1:] == x[:-1]
    flat = np.zeros(len(x), dtype=np.bool_)
    flat[1:] |= same
    flat[:-1] |= same
    spread, most = alike
    agreed = (_at(reward.rows, spread) == 0.0) | (_at(reward.rows, most) == x)
    flat |= agreed
    flat &= x <= np.minimum.accumulate(x)
    flat[0] = False
    starts = np.flatnonzero(flat & ~(np.r_[False, flat[:-1]] & np.r_[False, same]))[:MOST]
    ends = np.flatnonzero(flat & ~(np.r_[flat[1:], False] & np.r_[same, False]))[:MOST]
    return [Stretch(int(a), int(b) + 1, float(x[a]), bool(agreed[a])) for a, b in zip(starts, ends, strict=True)]


def _at(rows: Ints, series: Series | None) -> Floats:
    """Values of another series in these rows, NaN if it has none there."""
    out: Floats = np.full(len(rows), np.nan)
    if series is not None and len(series):
        place = np.minimum(series.rows.searchsorted(rows), len(series) - 1)
        held = series.rows[place] == rows
        out[held] = series.values[place[held]]
    return out


Points = Callable[[str], Series | None]


def outages(reward: Series, found: list[Stretch], logged: Points) -> Iterator[Outage]:
    """The stretches at which the reward's source failed, oldest first. `reward`: the points known by now; `logged`: the
    points of any metric known by now, those that are not finite included."""
    x, rows = reward.values, reward.rows
    out = np.zeros(len(x), dtype=np.bool_)
    for one in found:
        if one.begin >= len(x):
            return
        end = min(one.end, len(x))
        if end - one.begin < 2 and not one.alike:
            continue
        recent, begin = np.flatnonzero(~out[: one.begin])[-BEFORE:], one.begin
        if not _usual(x[recent]):  # the row in which it began holds batches of both kinds
            recent, begin = recent[:-1], begin - 1
            if not _usual(x[recent]):
                continue
        if len(recent) < BEFORE // 2:
            continue
        before = x[recent]
        level, sd = median(before), max(sd_d(before), sd_m(before))
        fall = level - one.value
        clear = CLEAR if end - one.begin < SEVERAL else CLEAR / 2
        if fall <= clear * sd or bool((before == one.value).any()):
            continue
        after = x[end : end + SEVERAL]
        over = len(after) == SEVERAL
        if over and median(after) < level - fall / 2:
            continue  # it has to be learnt again
        if not _by_source(rows[recent], rows[one.begin : end][:FIRST], over, logged):
            continue
        partial = len(after) > 0 and after[0] < level - max(BAND * sd, fall / 10)
        last = end if partial else end - 1
        out[begin : last + 1] = True
        yield Outage(
            int(rows[begin]),
            int(rows[last]),
            int(reward.steps[one.begin]),
            end - one.begin,
            one.value,
            level,
            end == len(x),
        )


def _usual(x: Floats) -> bool:
    """The newest point lies where those before it do."""
    before = x[:-1]
    if len(before) < SEVERAL:
        return False
    return bool(abs(x[-1] - median(before)) <= BAND * max(sd_d(before), sd_m(before)))


def _by_source(before: Ints, during: Ints, over: bool, logged: Points) -> bool:
    """The policy goes on as before. If nothing of it is logged, that the reward came back at once must say so."""
    seen = False
    for name in (*UPDATE, *POLICY):
        series = logged(name)
        if series is None:
            continue
        was, now = _of(series, before), _of(series, during)
        if not np.isfinite(now).all():
            return False  # the update broke
        was = was[np.isfinite(was)]
        if name in UPDATE or not len(now) or len(was) < BEFORE // 4:
            continue
        seen = True
        if abs(median(now) - median(was)) > max(CLEAR * sd_d(was), MOVED * abs(median(was))):
            return False
    return seen or over


def _of(series: Series, rows: Ints) -> Floats:
    return series.values[series.rows.searchsorted(rows[0]) : series.rows.searchsorted(rows[-1], "right")]


def without(series: Series, name: str | None, spans: tuple[Outage, ...]) -> Series:
    """A metric without what it says in these rows, if rewards went into it; of held-out scores only what the same
    grader made the lowest reward. `name`: the canonical one, None if it is not known."""
    meaning = metrics().get(name or "")
    group = meaning.group if meaning is not None else ""
    if group not in ("reward", "validation") and name not in UPDATE:
        return series
    keep = np.ones(len(series), dtype=np.bool_)
    for one in spans:
        a, b = series.rows.searchsorted(one.first_row), series.rows.searchsorted(one.last_row, "right")
        keep[a:b] = group == "validation" and series.values[a:b] != one.value
    if keep.all():
        return series
    return Series(series.key, series.steps[keep], series.values[keep], series.rows[keep], series.times[keep])
