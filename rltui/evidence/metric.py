"""The facts of one metric after so many rows: its levels, its best, and its direction."""

from __future__ import annotations

from math import comb, hypot, isfinite, sqrt
from typing import Literal

import numpy as np
from msgspec import Struct

from rltui.evidence.blocks import BlockCache, Blocks
from rltui.evidence.effects import (
    LIMIT,
    POWER,
    SHORT_LIMIT,
    SHORT_POINTS,
    Effect,
    Level,
    between,
    carry,
    drawn_error,
    effect,
    mean_error,
    median_error,
    noise,
    off_trend,
    wander,
)
from rltui.evidence.evaluations import without_lone
from rltui.evidence.peak import Curve, Peak, best, fallen, highest, smoothed, sustained
from rltui.evidence.seen import Summed
from rltui.evidence.shapes import window_rows
from rltui.evidence.shifts import Shift, shifts
from rltui.evidence.trends import (
    TREND_EFFECT,
    WINDOW,
    Trend,
    block_levels,
    even_slope,
    mann_kendall_p,
    running_medians,
    trend,
)
from rltui.records import cached
from rltui.run.sums import level_of
from rltui.run.table import Floats, Series

LEAST = 20
"""With fewer points only the first and the last window are known: two ends of 5 points overlap in their noise."""
LEAST_TREND = 10
FIRST = 5
NOW_POINTS = 50
"""The most points of the present level: a tenth of a long run would lag behind it."""
TREND_LIMIT = 2.81
"""Normal quantile of the trend test's p of .005, two-sided."""
BEYOND = 3.0
"""Sd of the noise by which points must lie beyond all others."""
FEW, BY_CHANCE = 40, 1000
"""With fewer points than the first number, neither the noise nor its correlation is well known if they learn on the
way. If a step then separates them all, and chance does so in at most one of the second number of orders, it is not
chance."""
ORDERED = 0.02
"""Chance below which the order of few points is a course."""
LEAST_NOISE = 1e-9


class Course(Struct, frozen=True):
    """What a report shows of a metric. `first` and `last` are as in every table: means of the first and last window, or
    the first and the newest value if there are so few points that the windows overlap. `now` is a robust level. The
    three effects are None if there are too few points. `moves`: both windows differ by more than the noise from row to
    row explains, though one of them moves so much in itself that the change is not sure."""

    metric: str
    key: str
    first: float
    last: float
    now: Level
    peak: Peak | None
    since_start: Effect | None
    since_peak: Effect | None
    recent: Effect | None
    moves: bool = False


class MetricFacts:
    """The facts of one metric over its finite points, at least one."""

    def __init__(self, seen: Summed, name: str, series: Series, better: Literal[-1, 1], held_out: bool) -> None:
        self._seen, self.name, self.series = seen, name, series
        self.better, self.held_out = better, held_out
        self._across: dict[int, Effect | None] = {}
        self._since: dict[int, MetricFacts | None] = {}

    @property
    def values(self) -> Floats:
        return self.series.values

    @cached
    def _borne(self) -> Floats:
        """The values that levels are made of; for evaluations, without a lone one that failed."""
        return without_lone(self.values) if self.held_out else self.values

    @cached
    def noise(self) -> float:
        """Sd of the noise from point to point (see `effects.noise`)."""
        return noise(self.values, self._off)

    @cached
    def _off(self) -> Floats | None:
        return off_trend(self.values) if len(self.values) > 2 else None

    @cached
    def carried(self) -> float:
        """Lag-1 correlation of the noise; 0 for evaluations, whose noise is independent."""
        return 0.0 if self.held_out else carry(self.values, self._off, self.noise)

    @cached
    def start(self) -> Level:
        """Mean of the first max(5, 10 %) points, or as many as the user sets."""
        return self._mean(0, window_rows(len(self.series), self._seen.window))

    @cached
    def first(self) -> float:
        """The level before anything was learnt: that of the first 5 points, or the first evaluation. A tenth of a run
        is too long a start for what grows quickly."""
        return level_of(self.values[: 1 if self.held_out else FIRST])

    @cached
    def end(self) -> Level:
        """Mean of the last max(5, 10 %) points, or as many as the user sets."""
        n = len(self.series)
        return self._mean(n - window_rows(n, self._seen.window), n)

    def _mean(self, begin: int, stop: int) -> Level:
        x, steps = self._borne[begin:stop], self.series.steps
        value = float(np.add.reduce(x)) / len(x)
        if not isfinite(value):
            value = float(np.add.reduce(x / len(x)))  # the sum overflows, the mean does not
        error = drawn_error if self.held_out else mean_error
        se = self._with_wander(len(x), error(x, self.noise))
        return Level(value, se, len(x), int(steps[begin]), int(steps[stop - 1]))

    def _with_wander(self, points: int, se: float) -> float:
        """The error of a level of so many points if the noise may wander; evaluations have independent noise."""
        return se if self.held_out else max(se, wander(self.values, points, se))

    @cached
    def now(self) -> Level:
        """Level of the newest points: a tenth of them, 5 to 50."""
        k = min(NOW_POINTS, window_rows(len(self.series)))
        x, steps = self.values[-k:], self.series.steps
        se = self._with_wander(k, median_error(k, self.noise, self.carried))
        return Level(level_of(x), se, k, int(steps[-k]), int(steps[-1]))

    def beyond(self, step: int) -> Effect | None:
        """The level now against the one before a step; None if too few points lie before it, or if the newest points
        begin before it."""
        before = self.before(step)
        known = before is not None and before.points >= FIRST and self.now.first_step >= step
        found = between(before, self.now) if before is not None and known else None
        if found is None or found.direction or len(self.values) >= FEW:
            return found
        at = int(self.series.steps.searchsorted(step))
        old, new = self.values[:at], self.values[at:]
        separate = old.max() < new.min() or old.min() > new.max()
        if not separate or comb(len(self.values), at) < BY_CHANCE:
            return found
        return Effect(found.value, abs(found.value) / SHORT_LIMIT, abs(found.value), 1 if found.value > 0 else -1)

    def before(self, step: int, points: int = NOW_POINTS) -> Level | None:
        """Level of the newest points before a step, at most `points`; None if there is none."""
        at = int(self.series.steps.searchsorted(step))
        return self._middle(max(0, at - points), at)

    def median_before(self, step: int, least: int = 1) -> float | None:
        """Only the value of `before`, if there are at least `least` points: noise and correlation, which its error
        needs, cost ten times as much."""
        at = int(self.series.steps.searchsorted(step))
        return level_of(self.values[max(0, at - NOW_POINTS) : at]) if at >= least else None

    def after(self, step: int, points: int) -> Level | None:
        """Level of the newest points from a step on, at most `points`; None if there is none."""
        return self._middle(*self._after(step, points))

    def median_after(self, step: int, points: int) -> float | None:
        """Only the value of `after`."""
        begin, stop = self._after(step, points)
        return level_of(self.values[begin:stop]) if begin < stop else None

    def _after(self, step: int, points: int) -> tuple[int, int]:
        n = len(self.series)
        return max(int(self.series.steps.searchsorted(step)), n - points), n

    def within(self, first: int | None, last: int, points: int) -> Level | None:
        """Level of the newest points from step `first` (None: any) to step `last`, at most `points`; None if there is
        none."""
        return self._middle(*self._within(first, last, points))

    def median_within(self, first: int | None, last: int, points: int) -> float | None:
        """Only the value of `within`."""
        begin, stop = self._within(first, last, points)
        return level_of(self.values[begin:stop]) if begin < stop else None

    def highest_within(self, first: int, last: int, least: int) -> float | None:
        """The highest value from step `first` up to step `last`, ignoring spikes of one or two rows; None if there are
        fewer points than `least`."""
        begin, stop = (int(self.series.steps.searchsorted(step)) for step in (first, last))
        return float(running_medians(self.values[begin:stop]).max()) if stop - begin >= least else None

    def _within(self, first: int | None, last: int, points: int) -> tuple[int, int]:
        begin = 0 if first is None else int(self.series.steps.searchsorted(first))
        stop = int(self.series.steps.searchsorted(last, "right"))
        return max(begin, stop - points), stop

    def _middle(self, begin: int, stop: int) -> Level | None:
        if begin >= stop:
            return None
        x, steps = self.values[begin:stop], self.series.steps
        error = median_error(len(x), self.noise, self.carried)
        return Level(level_of(x), error, len(x), int(steps[begin]), int(steps[stop - 1]))

    @cached
    def since_start(self) -> Effect | None:
        """Last window against the first one; None below 20 points."""
        return self.across(len(self.series))

    def ends(self, rows: int) -> tuple[Level, Level]:
        """First and last window of the newest `rows` points: a tenth of them, 10 to 50. For all points these are
        `start` and `end`, which every table shows."""
        n = len(self.series)
        if rows >= n:
            return self.start, self.end
        width = min(NOW_POINTS, max(LEAST_TREND, rows // 10))
        return self._mean(n - rows, n - rows + width), self._mean(n - width, n)

    def across(self, rows: int) -> Effect | None:
        """The last window against the first one of the newest `rows` points, but at least 20, as fewer show nothing.
        None if there are fewer than 20."""
        rows = min(max(rows, LEAST), len(self.series))
        if rows not in self._across:
            limit = SHORT_LIMIT if rows < SHORT_POINTS else LIMIT
            self._across[rows] = between(*self.ends(rows), limit) if rows >= LEAST else None
        return self._across[rows]

    @cached
    def since_first(self) -> Effect | None:
        """The level now against the first five points: an immediate gain is already in the first window. None below 20
        points."""
        if len(self.series) < LEAST:
            return None
        first, se = level_of(self.values[:FIRST]), median_error(FIRST, self.noise, self.carried)
        return effect(first, self.now.value, hypot(se, self.now.se))

    @cached
    def with_time(self) -> float:
        """Correlation of the value with its place in the row order; 0 for a constant."""
        x = self.values
        if len(x) < 2:
            return 0.0
        scale = float(np.abs(x).max()) or 1.0
        d, t = x / scale, np.arange(len(x)) - (len(x) - 1) / 2
        d = d - np.add.reduce(d) / len(d)
        size = sqrt(float((d * d).sum()) * float((t * t).sum()))
        return float((d * t).sum()) / size if size > 0 else 0.0

    @cached
    def peak(self) -> Peak | None:
        """The best sustained state, in the direction that is good for this metric (up if neither is). For evaluations:
        the best mean of 5 neighbours (3 if there are fewer than 10). Otherwise: the best of smoothed medians, which no
        spike reaches. None below 5 points or if values overflow."""
        return None if self.curve is None else best(self.curve, self.better)

    @cached
    def lowest(self) -> tuple[float, int] | None:
        """Value and step of the lowest sustained state of smoothed medians, whether good or bad for this metric. None
        as for `peak`."""
        found = sustained(self.series, _Alone(self.series).blocks(self.name))
        if found is None:
            return None
        steps, values, _ = found
        at = highest(-values)
        return float(values[at]), int(steps[at])

    @cached
    def curve(self) -> Curve | None:
        """The smoothed metric, whose best point is the peak."""
        blocks = None if self.held_out else self._seen.blocks(self.name)
        return smoothed(self.series, blocks, self.noise if blocks is None or blocks.size == 1 else None, self.better)

    @cached
    def since_peak(self) -> Effect | None:
        """The level now against the peak; 0 if nothing shows that the metric has come down from it. None
        below 10 points."""
        if self.peak is None or len(self.series) < LEAST_TREND:
            return None
        return fallen(self.series, self.peak, self.now, self.noise, self.carried, self.better, self.held_out)

    @property
    def below_best(self) -> bool:
        """Whether it has come down from its peak, beyond doubt."""
        return self.since_peak is not None and self.since_peak.direction == -self.better

    @property
    def lost(self) -> bool:
        """Whether the last window is worse than the first one by so much that chance explains it in one of
        a thousand."""
        return self.since_start is not None and self.since_start.errors * self.better <= -SHORT_LIMIT

    @cached
    def recent(self) -> Effect | None:
        """How the metric moves now: the fitted change over the newest 200 points, with the direction of the trend test,
        whose false alarms are known. None below 10 points."""
        return self.over(WINDOW)

    def over(self, rows: int) -> Effect | None:
        """As `recent`, over the newest `rows` points."""
        x = self.values[-rows:]
        if len(x) < LEAST_TREND:
            return None
        trend = self._seen.trend(self.name, rows)
        blocks = block_levels(x, min(12, max(3, len(x) // 5)))
        _, low, high = even_slope(blocks)
        se = (high - low) / (2.0 * 1.645) * len(blocks)
        smallest = max(TREND_EFFECT * trend.noise, (TREND_LIMIT + POWER) * se)
        if not (isfinite(trend.total) and isfinite(smallest)):
            return None
        direction: Literal[-1, 0, 1] = 0 if not trend.direction else 1 if trend.direction > 0 else -1
        return Effect(trend.total, se, smallest, direction)

    @cached
    def shifts(self) -> tuple[Shift, ...]:
        """Steps at which the level changed at once (see `shifts`)."""
        return shifts(self.series.steps, self.values, self.noise)

    def since_step(self, step: int) -> MetricFacts | None:
        """The same metric from a step on; None if it has no point there."""
        at = int(self.series.steps.searchsorted(step))
        return self.since_row(int(self.series.rows[at])) if at < len(self.series) else None

    def since_row(self, row: int) -> MetricFacts | None:
        """The same metric from a row of the run on; None if it has no point there."""
        if row not in self._since:
            part = self.series.since_row(row)
            self._since[row] = alone(self.name, part, self.better, self.held_out) if len(part) else None
        return self._since[row]

    @cached
    def ordered(self) -> Literal[-1, 0, 1]:
        """The direction of few points, at least 5. The newest ones, up to a third, lie beyond all others by 3 sd of the
        noise (6 for a single one). Otherwise the order of all points decides (Mann-Kendall, which uses no window). 0 if
        neither shows a direction."""
        x = self.values
        if len(x) < FIRST:
            return 0
        for newest in range(1, max(2, len(x) // 3) + 1):
            before, now = x[:-newest], x[-newest:]
            room = BEYOND * self.noise * (2 if newest == 1 else 1)
            if now.max() < before.min() - room:
                return -1
            if now.min() > before.max() + room:
                return 1
        chance, sign = mann_kendall_p(x)
        return 0 if chance > ORDERED else 1 if sign > 0 else -1

    @property
    def way(self) -> Literal[-1, 0, 1]:
        """The direction since the start: beyond its errors, or by the order of points that are too few to
        have errors."""
        return self.ordered if self.since_start is None else self.since_start.direction

    @property
    def apart(self) -> Literal[-1, 0, 1]:
        """The direction in which each of the newest third of few points lies beyond their first fifth, by 3 sd of the
        noise: an immediate gain that stays has no order. 0 if they do not, or with fewer than 9 points."""
        x, third, fifth = self.values, len(self.values) // 3, max(3, len(self.values) // 5)
        if third < 3:
            return 0
        first, last, room = x[:fifth], x[-third:], BEYOND * self.noise
        return 1 if last.min() > first.max() + room else -1 if last.max() < first.min() - room else 0

    @cached
    def late(self) -> Effect | None:
        """The newest third of the points against as many before it, twice as many if there are: for evaluations, which
        are few and have independent noise. The noise comes from the mean difference (von Neumann 1941: 1.128 sd). None
        below 4 points."""
        x = self._borne
        if len(x) < 4:
            return None
        third = max(2, len(x) // 3)
        before, after = x[:-third][-2 * third :], x[-third:]
        sd = max(LEAST_NOISE, float(np.abs(x[1:] - x[:-1]).mean()) / 1.128)
        return effect(float(before.mean()), float(after.mean()), sd * sqrt(1 / third + 1 / len(before)))

    @cached
    def course(self) -> Course:
        """The facts that a report carries."""
        few = 2 * self.start.points > len(self.series)
        first, last = (self.values[0], self.values[-1]) if few else (self.start.value, self.end.value)
        return Course(
            self.name,
            self.series.key,
            float(first),
            float(last),
            self.now,
            self.peak,
            self.since_start,
            self.since_peak,
            self.recent,
            self.moves,
        )

    @property
    def moves(self) -> bool:
        """`Course.moves`."""
        found = self.since_start
        if found is None or found.direction:
            return False
        independent = self.noise * sqrt((1 + self.carried) / (1 - self.carried))
        error = hypot(*(independent / sqrt(level.points) for level in (self.start, self.end)))
        return bool(abs(found.value) > SHORT_LIMIT * error > 0.0)


class _Alone:
    """A series that belongs to no run, so nothing of it is kept."""

    def __init__(self, series: Series, window: int | None = None) -> None:
        self._values, self.window = series.values, window

    def blocks(self, name: str) -> Blocks:
        return BlockCache().get(name, self._values)

    def trend(self, name: str, window: int = WINDOW) -> Trend:
        return trend(self._values, window)


def alone(
    name: str, series: Series, better: Literal[-1, 1] = 1, held_out: bool = False, window: int | None = None
) -> MetricFacts:
    """Facts of a series that no look holds under a name: a part of one, a member of a family, or one of another run. It
    holds at least one point, all finite. `window`: the rows of the first and last window, else a tenth."""
    return MetricFacts(_Alone(series, window), name, series, better, held_out)
