"""The primary metric: chosen by a stated order, smoothed, with its noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import sqrt

import numpy as np
from msgspec import Struct

from rltui.compare.model import Primary
from rltui.compare.read import COMPONENT, HELD_OUT, ComparedRun, Floats, RunCurve
from rltui.compare.tables import PrimaryChoice, primary_order
from rltui.evidence.evaluations import FEW
from rltui.evidence.metric import alone
from rltui.frameworks.load import metrics
from rltui.run.table import Series

OFFERED = 6  # most metrics that are suggested if no logged one is known to rank runs


class Scored(Struct, frozen=True):
    """The primary metric of one run. `good`: the smoothed curve, with its sign set so that more is better. `luck`: by
    how many standard errors the best may exceed the other values by chance."""

    steps: Floats
    good: Floats
    sign: float
    best: float
    best_step: int
    se: float | None
    first: float
    last: float
    luck: float

    @property
    def best_good(self) -> float:
        return self.best * self.sign

    @property
    def gain(self) -> float:
        """How much better the best value is than the first window; positive if better."""
        return (self.best - self.first) * self.sign

    @property
    def noise(self) -> float:
        """How much two values may differ by chance: two standard errors of a difference; 0 if the standard error is
        unknown."""
        return 2 * sqrt(2) * (self.se or 0.0)

    @property
    def learned(self) -> bool:
        """Whether the gain exceeds chance: the noise, and `luck`, because the best of many means is high by chance."""
        return self.gain > self.noise + self.luck * (self.se or 0.0)


def choose(runs: Sequence[ComparedRun], wanted: str | None, lower_is_better: bool) -> Primary:
    """The metric that ranks the runs: the user's, else the first in the order that more than half of the runs log, else
    the one in the order that most runs log."""
    names = [name for run in runs for name in run.curves]
    counts = Counter(names)
    if wanted is not None:
        same = [n for n in counts if n == wanted or n.startswith(f"{wanted}:")]
        name = max(same, key=lambda n: (counts[n], n), default=wanted)
        return Primary(name, _label(name), not lower_is_better, "named with --primary", counts[name])
    best: tuple[int, str] | None = None
    for line in primary_order().order:
        fitting = [n for n in counts if _fits(n, line)]
        if not fitting:
            continue
        name = max(fitting, key=lambda n: (counts[n], n))
        if counts[name] * 2 > len(runs):
            best = (counts[name], name)
            break
        if best is None or counts[name] > best[0]:
            best = (counts[name], name)
    if best is None:
        logged = Counter(name for run in runs for name in run.traces).most_common(OFFERED)
        offered = f": {', '.join(f'{name} (in {count})' for name, count in logged)}" if logged else ""
        how = f"no run logs a metric that could rank it. Name one with --primary{offered}"
        return Primary(None, "none", not lower_is_better, how, 0)
    count, name = best
    order = ", ".join(line.label for line in primary_order().order)
    how = f"guessed: the first of these that more than half of the runs log, else the most logged one: {order}"
    return Primary(name, _label(name), not (lower_is_better or _falls(name)), how, count)


def _fits(name: str, line: PrimaryChoice) -> bool:
    canonical, _, member = name.partition(":")
    if line.components:
        return canonical == COMPONENT and any(word in member.lower() for word in line.components)
    return name in line.names or (canonical == HELD_OUT and HELD_OUT in line.names and bool(member))


def _label(name: str) -> str:
    """The data set or reward function if the metric's name holds one, else the vocabulary's short name."""
    canonical, _, member = name.partition(":")
    known = metrics().get(canonical)
    return member or (known.label if known is not None else name)


def _falls(name: str) -> bool:
    return any(word in name.lower() for word in primary_order().lower_is_better)


def score(name: str, curve: RunCurve, higher_is_better: bool, before: int | None = None) -> Scored:
    """The score from the facts of the metric, so that best, first and last equal those in the run's own report. If
    there are too few points for a best value, it is the mean of all, without a standard error. `before`: the step from
    which on the run was broken. A mean of evaluations before that step includes none after it."""
    n = len(curve)
    series = Series(name, curve.steps, curve.values, np.arange(n), np.full(n, np.nan))
    known = metrics().get(name.partition(":")[0])
    held_out = known is not None and known.group == "validation"
    found = alone(name, series, 1 if higher_is_better else -1, held_out)
    sign = 1.0 if higher_is_better else -1.0
    smoothed, peak = found.curve, found.peak
    if before is not None and held_out and peak is not None and peak.step < before:
        sound = series.where(series.steps < before)
        peak = (alone(name, sound, found.better, held_out).peak if len(sound) >= FEW else None) or peak
    return Scored(
        steps=(curve.steps if smoothed is None else smoothed.steps).astype(np.float64),
        good=sign * (curve.values if smoothed is None else smoothed.values),
        sign=sign,
        best=found.start.value if peak is None else peak.value,
        best_step=found.end.last_step if peak is None else peak.step,
        se=None if peak is None else peak.se,
        first=found.start.value,
        last=found.end.value,
        luck=0.0 if peak is None else peak.luck,
    )
