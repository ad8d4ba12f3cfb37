"""The facts about a run and each of its metrics after so many rows. Rules, sentences, verdict, report and screens all
take facts from here, so that they never disagree.

Each fact is computed when it is first requested. `Facts.told` is the part that a report carries, without the run.
"""

from __future__ import annotations

from math import isfinite, sqrt
from typing import Literal

import numpy as np
from msgspec import Struct

from rltui.evidence.clock import Clock, Pace, clock, pace, worth
from rltui.evidence.evaluations import held_out, mean_z, together, validation_sets
from rltui.evidence.metric import Course, MetricFacts, alone
from rltui.evidence.present import present
from rltui.evidence.seen import Seen
from rltui.frameworks.load import metrics
from rltui.records import cached
from rltui.run.sums import level_of, sd
from rltui.run.table import Series

SHARE_ROWS = 20
"""The number of newest rows over which a share (dead groups, cut responses) is averaged, in a run of 200 rows
(`clock.worth`)."""
SOLVED = 0.9
"""Share of the way from floor to ceiling."""


class Share(Struct, frozen=True):
    """A share (0..1) as the mean of its newest rows, with those rows' first and last step. `se`: its standard error,
    from how much the rows differ; it is large if a batch holds one or two groups."""

    value: float
    rows: int
    first_step: int
    last_step: int
    se: float = 0.0


class RunFacts(Struct, frozen=True):
    """The facts of a run that a report carries. `score` is the task's own score. `reward` is the reward that is
    optimised, if it is logged beside the score and differs from it (by a KL penalty or shaping); if one key is both,
    that is `score`."""

    clock: Clock
    pace: Pace | None
    score: Course | None
    reward: Course | None
    validation: Course | None
    dead_groups: Share | None
    cut: Share | None
    reached: float | None
    solved: bool


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
            found: MetricFacts | None = None
            if series and name in held_out():  # what is kept does not hold a look
                found = self._seen.kept(name, alone(name, series, better, True, self._seen.window))
            elif series:
                found = MetricFacts(self._seen, name, series, better, False)
            self._metrics[name] = found
        return self._metrics[name]

    @cached
    def validation_sets(self) -> tuple[MetricFacts, ...]:
        """Facts of each validation set that counts, beginning with the one that represents validation in the tables."""
        main = self.metric("val_score")
        sets = validation_sets(self._seen)
        others = [
            self._seen.kept(f"val_score:{one.key}", alone("val_score", one, held_out=True))
            for one in sets[1:]
            if len(one)
        ]
        return () if main is None else (main, *others)

    @cached
    def validation(self) -> MetricFacts | None:
        """Validation as advice uses it: the mean of the z-scores of the sets that were evaluated together
        (`evaluations.mean_z`); for a single set, the metric as logged. None if there is none."""
        sets = together([one.series for one in self.validation_sets])
        if len(sets) < 2:
            return self.metric("val_score")
        both = Series(sets[0].key, sets[0].steps, mean_z(sets), sets[0].rows, sets[0].times)
        return self._seen.kept("all of val_score", alone("val_score", both, held_out=True))

    def errors(self, name: str, rows: int = 0) -> float:
        """How far a metric rose over its newest `rows` points (0: since its start), in standard errors; 0 if it is not
        logged or has too few points."""
        found = self.metric(name)
        effect = None if found is None else found.across(rows or len(found.series))
        return 0.0 if effect is None else effect.errors

    @cached
    def clock(self) -> Clock:
        return clock(self._seen)

    @cached
    def pace(self) -> Pace | None:
        """Seconds a step and time left; None if no step was timed."""
        timer = self._seen.series("time_per_step_s")
        restarts = self._seen.restarts(self._seen.n)
        return pace(self._seen.steps, self._seen.times, restarts, timer, self.clock.steps_left)

    @cached
    def score(self) -> str | None:
        """Canonical name of the task score; None if neither score nor reward is logged."""
        return self._seen.reward if self._seen.series(self._seen.reward) is not None else None

    @cached
    def optimised(self) -> str | None:
        """The canonical name of the reward that is optimised, if it is logged beside the score and differs from it (it
        then contains a KL penalty or shaping). None if there is only the score."""
        if self.score != "score_mean":
            return None
        reward, score = self._seen.series("reward_mean"), self._seen.series("score_mean")
        if reward is None or score is None:
            return None
        a, b = reward.values, score.values
        return None if np.array_equal(a[-SHARE_ROWS:], b[-SHARE_ROWS:]) and np.array_equal(a, b) else "reward_mean"

    @cached
    def dead_groups(self) -> Share | None:
        """Share of groups whose samples all got the same reward: the mean of the newest rows. The mean gives the share
        over all their groups; the median of a batch of one or two groups is 0 or 1 whatever the share."""
        return self._share("frac_reward_zero_std")

    @cached
    def cut(self) -> Share | None:
        """Share of responses that the length limit cut, computed as `dead_groups`."""
        return self._share("response_clip_ratio")

    def _share(self, name: str) -> Share | None:
        series = self._seen.series(name)
        if series is None or not len(series):
            return None
        rows = present(series.values, SHARE_ROWS)
        x, steps = series.values[-rows:], series.steps[-rows:]
        value = float(np.add.reduce(x)) / len(x)
        if not isfinite(value):
            return None
        return Share(value, len(x), int(steps[0]), int(steps[-1]), sd(x) / sqrt(len(x)))

    @cached
    def reached(self) -> float | None:
        """Where the newest points of the score lie between its bottom (0) and its ceiling (1). None if bottom or
        ceiling is not known."""
        bottom, ceiling, name = self._seen.profile.bottom, self._seen.profile.ceiling, self.score
        if name is None or bottom is None or ceiling is None or ceiling <= bottom:
            return None
        series = self._seen.series(name)
        if series is None:
            return None
        share = (level_of(series.values[-worth(SHARE_ROWS, len(series)) :]) - bottom) / (ceiling - bottom)
        return share if isfinite(share) else None

    @cached
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
        """What a report shows of a metric; None if it is not logged."""
        facts = self.metric(name) if name is not None else None
        return facts.course if facts is not None else None
