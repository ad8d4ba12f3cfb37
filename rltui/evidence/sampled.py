"""The samples that a look may judge by, as numbers by dump: nothing after the step of the look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

from rltui.evidence.look import Look
from rltui.evidence.model import Evidence
from rltui.rollouts.samples import Samples, SampleStats
from rltui.run.run import Run

PREFIX = "samples."
Z = 1.96
"""Two-sided 95 %: a share among a few dozen samples is known no better."""


@dataclass(frozen=True)
class Sampled:
    """Dumps of a look, oldest first. One that names no step tells of the whole run, and only of that."""

    look: Look
    samples: Samples
    dumps: tuple[SampleStats, ...]

    @staticmethod
    def of(run: Run, look: Look, now: bool) -> Sampled:
        """`now`: the run as far as it goes, with the samples that name no step; else as it stood at the look."""
        samples = run.samples
        whole = now and not look.n
        step = samples.steps[-1] if whole and samples.steps else look.step
        dumps = samples.until(step) if look.n or whole else ()
        return Sampled(look, samples, (samples.nameless,) if now and samples.nameless is not None else dumps)

    @cached_property
    def floor(self) -> float | None:
        """Lowest reward seen in a dump."""
        return min((d.reward_min for d in self.dumps if d.reward_min is not None), default=None)

    @cached_property
    def ceiling(self) -> float | None:
        return max((d.reward_max for d in self.dumps if d.reward_max is not None), default=None)

    def holding(self, level: int, of: Callable[[SampleStats], int]) -> int | None:
        """Step of the first of the newest dumps that all stand at this level or above."""
        since = None
        for one in reversed(self.dumps):
            if of(one) < level:
                break
            since = one.step
        return since

    def unread_before(self, step: int | None) -> int | None:
        """Step of the dump that was read before that of `step`, where there are dumps between them that were not."""
        earlier = [d.step for d in self.dumps if d.step is not None and step is not None and d.step < step]
        between = [one for one in self.samples.steps if earlier and step is not None and earlier[-1] < one < step]
        return earlier[-1] if between else None

    def evidence(self, field: str, text: str) -> Evidence:
        """First, middle and newest dump in one of their numbers."""
        known = [(d.step, float(v)) for d in self.dumps if (v := getattr(d, field)) is not None]
        values = [value for _, value in known]
        first, mid, last = (values[0], values[len(values) // 2], values[-1]) if values else (None, None, None)
        slope = None
        if len(known) > 1 and known[0][0] is not None and known[-1][0] is not None and known[-1][0] > known[0][0]:
            slope = 100 * (values[-1] - values[0]) / (known[-1][0] - known[0][0])
        return Evidence(f"{PREFIX}{field}", self.where, first, mid, last, slope, text)

    @property
    def where(self) -> str:
        """The dumps in words."""
        steps = [d.step for d in self.dumps if d.step is not None]
        if not steps:
            return "samples in the log"
        name = "validation samples" if self.dumps[-1].split == "validation" else "rollouts"
        return f"{name} of step {steps[0]}" if len(steps) == 1 else f"{name} of steps {steps[0]} to {steps[-1]}"


def low(share: float | None, n: int) -> float:
    """What a share among `n` samples is at least (Wilson's interval, 95 %); 0 where it is not known."""
    return 0.0 if share is None or n < 1 else max(0.0, _centre(share, n) - _half(share, n))


def high(share: float | None, n: int) -> float:
    """What a share among `n` samples is at most; 1 where it is not known."""
    return 1.0 if share is None or n < 1 else min(1.0, _centre(share, n) + _half(share, n))


def _centre(share: float, n: int) -> float:
    return (share + Z * Z / (2 * n)) / (1 + Z * Z / n)


def _half(share: float, n: int) -> float:
    return Z * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)


def settled(seen: Sampled, of: Callable[[SampleStats], int], dumps: int) -> int:
    """The level at which each of the newest `dumps` stands at least; 0 where there are fewer."""
    newest = seen.dumps[-dumps:]
    return min(map(of, newest)) if len(newest) == dumps else 0
