"""The fact table of a look: what can be said of a run and of each of its metrics after so many rows.

Rules, sentences, verdict, report and screens take a fact from here, so that no two of them differ. Each is worked out
when it is first asked for, and once a look. `Facts.told` is the part that a report carries, without the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import hypot, isfinite, sqrt
from typing import Literal, Protocol

import numpy as np

from rltui.evidence.blocks import Blocks
from rltui.evidence.effects import (
    LIMIT,
    POWER,
    SHORT_LIMIT,
    SHORT_POINTS,
    Effect,
    Level,
    between,
    carry,
    chance,
    effect,
    mean_error,
    median_error,
    noise,
)
from rltui.evidence.pace import Pace, pace
from rltui.evidence.profile import Profile, RunSettings
from rltui.evidence.shapes import window_rows
from rltui.evidence.shifts import Shift, shifts
from rltui.evidence.trends import (
    TREND_EFFECT,
    WINDOW,
    Trend,
    block_medians,
    running_medians,
    smooth,
    theil_sen,
)
from rltui.frameworks.load import metrics
from rltui.run.sums import median
from rltui.run.table import Floats, Ints, Series

LEAST = 20
"""Points below which first and last window are all that can be said: two ends of 5 points overlap in their noise."""
LEAST_TREND = 10
NOW_POINTS = 50
"""Most points of the level now: a window of a tenth of a long run would lag behind it."""
SHARE_ROWS = 20
"""Rows that a share now (dead groups, cut responses) is the mean of."""
TREND_LIMIT = 2.81
"""Normal quantile of the trend test's p of .005, two-sided."""
SOLVED = 0.9
"""Of the way from floor to ceiling."""
BLOCK_WIDTH = 51
LEAST_NOISE = 1e-9
TIE = 1e-9
"""Of the largest value: smoothed values so near to the best are as good, and the first of them is named."""


@dataclass(frozen=True, slots=True)
class Window:
    """The newest part of a run, in the unit that a rule thinks in: rows of the log, training steps, or samples."""

    count: int
    unit: Literal["rows", "steps", "samples"] = "rows"


@dataclass(frozen=True, slots=True)
class Clock:
    """How far a run is. `stride`: steps from row to row, usually. `samples`: responses trained on so far, None if the
    config does not say how many a step has."""

    rows: int
    first_step: int
    step: int
    stride: int
    planned_steps: int | None
    samples_per_step: float | None

    @property
    def samples(self) -> float | None:
        return None if self.samples_per_step is None else self.samples_per_step * self.step

    @property
    def steps_left(self) -> int | None:
        """Steps to the planned end; None without a plan or rows. Who counts from 0 ends one short of the plan."""
        if self.planned_steps is None or not self.rows:
            return None
        return max(0, self.planned_steps - (1 if self.first_step == 0 else 0) - self.step)

    def start(self, window: Window) -> int:
        """Step after which the window begins; of unknown samples a step counts as one."""
        if window.unit == "rows":
            return self.step - window.count * self.stride
        per_step = (self.samples_per_step or 1.0) if window.unit == "samples" else 1.0
        return self.step - int(window.count / per_step)


@dataclass(frozen=True, slots=True)
class Peak:
    """The best sustained state of a metric: its smoothed value, standard error, step, and of how many independent means
    it is the best."""

    value: float
    se: float
    step: int
    means: float


@dataclass(frozen=True, slots=True)
class Share:
    """A share (0..1) as the mean of its newest rows, with those rows' first and last step."""

    value: float
    rows: int
    first_step: int
    last_step: int


@dataclass(frozen=True, slots=True)
class Course:
    """What a report says of a metric: `first`, `last` are the window means that every table shows; `now` a robust
    level; the three effects are None if there are too few points."""

    metric: str
    key: str
    first: float
    last: float
    now: Level
    peak: Peak | None
    since_start: Effect | None
    since_peak: Effect | None
    recent: Effect | None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts of a run that a report carries. `score` is the task's own score, `reward` what is optimised if that is
    logged beside it and differs (a KL penalty or shaping taken off); if one key holds both, it is `score`."""

    clock: Clock
    pace: Pace | None
    score: Course | None
    reward: Course | None
    validation: Course | None
    dead_groups: Share | None
    cut: Share | None
    reached: float | None
    solved: bool


class Seen(Protocol):
    """The first rows of a run (`Look`), as far as facts need them."""

    n: int
    step: int
    steps: Ints
    times: Floats
    settings: RunSettings

    @property
    def reward(self) -> str: ...

    @property
    def profile(self) -> Profile: ...

    def series(self, name: str) -> Series | None: ...

    def blocks(self, name: str) -> Blocks | None: ...

    def trend(self, name: str, window: int = WINDOW) -> Trend: ...

    def restarts(self, rows: int) -> list[int]: ...


class MetricFacts:
    """Facts of one metric over its finite points, at least one."""

    def __init__(self, seen: Seen, name: str, series: Series, better: Literal[-1, 1], held_out: bool) -> None:
        self._seen, self.name, self.series = seen, name, series
        self.better, self.held_out = better, held_out

    @property
    def values(self) -> Floats:
        return self.series.values

    def points(self, window: Window) -> Floats:
        """The values within the newest part of the run."""
        if window.unit == "rows":
            return self.series.values[-window.count :]
        start = self.clock.start(window)
        return self.series.values[int(self.series.steps.searchsorted(start, "right")) :]

    @cached_property
    def clock(self) -> Clock:
        return clock(self._seen)

    @cached_property
    def noise(self) -> float:
        """Sd of the noise from point to point (see `effects.noise`)."""
        return noise(self.values)

    @cached_property
    def carried(self) -> float:
        """Lag-1 correlation of the noise."""
        return carry(self.values)

    @cached_property
    def start(self) -> Level:
        """Mean of the first max(5, 10 %) points."""
        return self._mean(0, window_rows(len(self.series)))

    @cached_property
    def end(self) -> Level:
        """Mean of the last max(5, 10 %) points."""
        n = len(self.series)
        return self._mean(n - window_rows(n), n)

    def _mean(self, begin: int, stop: int) -> Level:
        x, steps = self.values[begin:stop], self.series.steps
        value = float(np.add.reduce(x)) / len(x)
        if not isfinite(value):
            value = float(np.add.reduce(x / len(x)))  # the sum overflows, the mean does not
        return Level(value, mean_error(x, self.noise), len(x), int(steps[begin]), int(steps[stop - 1]))

    @cached_property
    def now(self) -> Level:
        """Median of the newest points: a tenth of them, 5 to 50."""
        k = min(NOW_POINTS, window_rows(len(self.series)))
        x, steps = self.values[-k:], self.series.steps
        return Level(median(x), median_error(k, self.noise, self.carried), k, int(steps[-k]), int(steps[-1]))

    @cached_property
    def since_start(self) -> Effect | None:
        """Last window against the first one; None below 20 points."""
        n = len(self.series)
        if n < LEAST:
            return None
        return between(self.start, self.end, SHORT_LIMIT if n < SHORT_POINTS else LIMIT)

    @cached_property
    def peak(self) -> Peak | None:
        """The best sustained state, by the way that is good for this metric (up if neither is): of evaluations the best
        mean of 5 neighbours (3 of fewer than 10), of all else the best of smoothed medians, which no spike reaches.
        None below 5 points or if values overflow."""
        curve = smoothed(self.series, None if self.held_out else self._seen.blocks(self.name))
        if curve is None:
            return None
        good = self.better * curve.values
        at = int((good >= good.max() - TIE * float(np.abs(good).max())).argmax())
        return Peak(float(curve.values[at]), curve.se, int(curve.steps[at]), len(curve.values) / curve.width)

    @cached_property
    def since_peak(self) -> Effect | None:
        """The level now against the peak, which as the best of many means lies above a usual one by chance alone."""
        peak = self.peak
        if peak is None or len(self.series) < LEAST_TREND:
            return None
        n = len(self.series)
        limit = (SHORT_LIMIT if n < SHORT_POINTS else LIMIT) + chance(round(peak.means), 1)
        above = self.better * (self.now.value - peak.value) > 0
        return effect(peak.value, peak.value if above else self.now.value, hypot(self.now.se, peak.se), limit)

    @cached_property
    def recent(self) -> Effect | None:
        """How it moves now: fitted change over the newest 200 points, with the direction of the trend test, whose
        false alarms are known. None below 10 points."""
        return self.over(WINDOW)

    def over(self, rows: int) -> Effect | None:
        """As `recent`, over the newest `rows` points."""
        x = self.values[-rows:]
        if len(x) < LEAST_TREND:
            return None
        trend = self._seen.trend(self.name, rows)
        blocks = block_medians(x, min(12, max(3, len(x) // 5)))
        _, low, high = theil_sen(np.arange(len(blocks), dtype=np.float64), blocks)
        se = (high - low) / (2.0 * 1.645) * len(blocks)
        smallest = max(TREND_EFFECT * trend.noise, (TREND_LIMIT + POWER) * se)
        if not (isfinite(trend.total) and isfinite(smallest)):
            return None
        direction: Literal[-1, 0, 1] = 0 if not trend.direction else 1 if trend.direction > 0 else -1
        return Effect(trend.total, se, smallest, direction)

    @cached_property
    def shifts(self) -> tuple[Shift, ...]:
        """Steps at which the level changed at once (see `shifts`)."""
        return shifts(self.series.steps, self.values)

    def since_row(self, row: int) -> MetricFacts | None:
        """The same metric from a row of the run on; None if it has no point there."""
        part = self.series.since_row(row)
        return MetricFacts(self._seen, self.name, part, self.better, self.held_out) if len(part) else None

    @cached_property
    def late(self) -> Effect | None:
        """Newest third of the points against as many before it, twice as many if there are: of evaluations, which are
        few and draw their noise anew each time. Noise by the mean difference (von Neumann 1941: 1.128 sd). None below
        4 points."""
        x = self.values
        if len(x) < 4:
            return None
        third = max(2, len(x) // 3)
        before, after = x[:-third][-2 * third :], x[-third:]
        sd = max(LEAST_NOISE, float(np.abs(x[1:] - x[:-1]).mean()) / 1.128)
        return effect(float(before.mean()), float(after.mean()), sd * sqrt(1 / third + 1 / len(before)))

    @cached_property
    def course(self) -> Course:
        """The facts that a report carries."""
        return Course(
            self.name,
            self.series.key,
            self.start.value,
            self.end.value,
            self.now,
            self.peak,
            self.since_start,
            self.since_peak,
            self.recent,
        )


@dataclass(frozen=True, slots=True)
class Curve:
    """A smoothed metric: values at steps, the standard error of each, how many points one is the mean of."""

    steps: Ints
    values: Floats
    se: float
    width: int


def smoothed(series: Series, blocks: Blocks | None) -> Curve | None:
    """The curve whose best point is the peak. With `blocks`, medians of blocks and of 5 neighbours come before the
    means: a spike of one batch is no state. None below 5 points (3 evaluations), or if values overflow."""
    x = series.values
    if blocks is None:
        if len(x) < 3:
            return None
        width = 5 if len(x) >= 10 else 3
        steps, values, sd = series.steps, smooth(x, width), noise(x)
    else:
        if len(x) < 5:
            return None
        middles = np.minimum(np.arange(len(blocks.medians)) * blocks.size + blocks.size // 2, len(x) - 1)
        width = max(5, min(BLOCK_WIDTH, len(middles) // 20 * 2 + 1))
        steps, values, sd = series.steps[middles], smooth(running_medians(blocks.medians), width), noise(blocks.medians)
    se = sd / sqrt(min(width, len(values)))
    return Curve(steps, values, se, width) if np.isfinite(values).all() and isfinite(se) else None


def clock(seen: Seen) -> Clock:
    """How far the run is at this look."""
    steps, settings = seen.steps, seen.settings
    recent = steps[-21:]
    stride = int(median((recent[1:] - recent[:-1]).astype(np.float64))) if len(recent) > 1 else 1
    prompts, group = settings.number("train_batch_prompts"), settings.group_size
    samples = settings.number("rollout_batch") or (prompts * group if prompts and group else None)
    first = int(steps[0]) if len(steps) else 0
    return Clock(seen.n, first, seen.step, max(1, stride), settings.planned_steps, samples)


class Facts:
    """The fact table of one look."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._metrics: dict[str, MetricFacts | None] = {}

    def metric(self, name: str) -> MetricFacts | None:
        """Facts of a metric by canonical name; None while it has no finite point."""
        if name not in self._metrics:
            series, meaning = self._seen.series(name), metrics().get(name)
            better: Literal[-1, 1] = -1 if meaning is not None and meaning.direction == "down" else 1
            held_out = meaning is not None and meaning.group == "validation"
            self._metrics[name] = MetricFacts(self._seen, name, series, better, held_out) if series else None
        return self._metrics[name]

    @cached_property
    def clock(self) -> Clock:
        return clock(self._seen)

    @cached_property
    def pace(self) -> Pace | None:
        """Seconds a step and time left; None while no step was timed."""
        timer = self._seen.series("time_per_step_s")
        restarts = self._seen.restarts(self._seen.n)
        return pace(self._seen.steps, self._seen.times, restarts, timer, self.clock.steps_left)

    @cached_property
    def score(self) -> str | None:
        """Canonical name of the task score; None if neither score nor reward is logged."""
        return self._seen.reward if self._seen.series(self._seen.reward) is not None else None

    @cached_property
    def optimised(self) -> str | None:
        """Canonical name of the reward that is optimised if it is logged beside the score and is another number: a KL
        penalty or shaping is in it. None if the score is all there is."""
        if self.score != "score_mean":
            return None
        reward, score = self._seen.series("reward_mean"), self._seen.series("score_mean")
        if reward is None or score is None:
            return None
        return None if np.array_equal(reward.values, score.values) else "reward_mean"

    @cached_property
    def dead_groups(self) -> Share | None:
        """Share of groups whose samples all got the same reward: the mean of the last 20 rows. The mean is the share of
        all their groups; the median of a batch of one or two groups is 0 or 1 whatever the share."""
        return self._share("frac_reward_zero_std")

    @cached_property
    def cut(self) -> Share | None:
        """Share of responses that the length limit cut, as `dead_groups`."""
        return self._share("response_clip_ratio")

    def _share(self, name: str) -> Share | None:
        series = self._seen.series(name)
        if series is None or not len(series):
            return None
        x, steps = series.values[-SHARE_ROWS:], series.steps[-SHARE_ROWS:]
        value = float(np.add.reduce(x)) / len(x)
        return Share(value, len(x), int(steps[0]), int(steps[-1])) if isfinite(value) else None

    @cached_property
    def reached(self) -> float | None:
        """Where the score is now between its floor (0) and its ceiling (1): median of the last 20 points. None if they
        are not known."""
        profile, name = self._seen.profile, self.score
        if name is None or profile.floor is None or profile.ceiling is None or profile.ceiling <= profile.floor:
            return None
        series = self._seen.series(name)
        if series is None:
            return None
        share = (median(series.values[-20:]) - profile.floor) / (profile.ceiling - profile.floor)
        return share if isfinite(share) else None

    @cached_property
    def told(self) -> RunFacts:
        """The part that a report carries."""
        return RunFacts(
            clock=self.clock,
            pace=self.pace,
            score=self.course(self.score),
            reward=self.course(self.optimised),
            validation=self.course("val_score"),
            dead_groups=self.dead_groups,
            cut=self.cut,
            reached=self.reached,
            solved=self.reached is not None and self.reached >= SOLVED,
        )

    def course(self, name: str | None) -> Course | None:
        """What a report says of a metric; None if it is not logged."""
        facts = self.metric(name) if name is not None else None
        return facts.course if facts is not None else None
