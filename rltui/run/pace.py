"""How long the steps of this run usually take: those that validate or save a checkpoint apart from the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rltui.run.medians import median, quantile
from rltui.run.table import Floats, Ints, Table

RECENT = 200
"""Steps that the usual is learned from: enough for a 95th percentile, few enough to follow growing responses."""


@dataclass(frozen=True, slots=True)
class Usual:
    """Median and 95th percentile, in seconds, of `count` durations."""

    median_s: float
    high_s: float
    count: int


def usual(seconds: Sequence[float] | Floats) -> Usual | None:
    """None without any duration."""
    known = np.asarray(seconds, dtype=np.float64)
    known = known[np.isfinite(known) & (known > 0)]
    if not len(known):
        return None
    return Usual(median(known), quantile(known, 0.95), len(known))


@dataclass(frozen=True, slots=True)
class Pace:
    """`plain`: a step that neither validates nor saves; `special`: from row to row where one of them does both or
    either. `stride`: steps from one row to the next. `next_special`: validation or a checkpoint is due now."""

    plain: Usual | None = None
    special: Usual | None = None
    stride: int = 1
    next_special: bool = False

    @property
    def now(self) -> Usual | None:
        """What the step now under way usually takes; None where that was never seen."""
        return self.special if self.next_special else self.plain


def learn(
    table: Table,
    timer: Floats,
    beats: Sequence[tuple[int, float]],
    marks: Iterable[int],
    periods: Iterable[int],
    step: int | None,
    stride: int,
) -> Pace:
    """The pace of the recent steps.

    Durations come from the times of the rows, else from when steps were seen to arrive (`beats`: step, seconds), else
    from the logged step time (`timer`, seconds a step). `marks`: steps that validated or saved; `periods`: every so
    many steps it is planned; `step`: the newest one.
    """
    marked = np.array(sorted(set(marks)), dtype=np.int64)  # np.unique would import np.ma
    steps, seconds, gaps = _intervals(table)
    if len(seconds) < 2 and len(beats) > 2:
        at, heard = zip(*beats, strict=True)
        steps, seconds, gaps = _differences(np.array(at, dtype=np.int64), np.array(heard, dtype=np.float64))
    if len(seconds):
        special = np.searchsorted(marked, steps, "right") > np.searchsorted(marked, steps - gaps, "left")
        plain = usual((seconds / gaps)[~special])
        rare = usual(seconds[special])
    else:
        plain, rare = usual(timer[-RECENT:]), None
    if plain is None and rare is not None and bool(len(seconds)):
        plain = usual(seconds / gaps)  # every step validates
    due = step is not None and _due(step, stride, marked, {*periods, *_period(marked)})
    return Pace(plain, rare, stride, due)


def _intervals(table: Table) -> tuple[Ints, Floats, Ints]:
    """Newest step, seconds and number of steps from each row with a time to the next one."""
    known = table.timed(RECENT + 1)
    return _differences(table.steps[known], table.times[known])


def _differences(steps: Ints, times: Floats) -> tuple[Ints, Floats, Ints]:
    seconds, gaps = np.diff(times), np.diff(steps)
    good = (seconds > 0) & (gaps > 0)
    return steps[1:][good], seconds[good], gaps[good]


def _period(marked: Ints) -> set[int]:
    """The period that past marks kept to."""
    apart = set(np.diff(marked[-4:]).tolist())
    return apart if len(marked) > 2 and len(apart) == 1 else set()


def _due(step: int, stride: int, marked: Ints, periods: set[int]) -> bool:
    """Whether the step after `step` validates or saves, or `step` did and that may still go on."""
    if len(marked) and marked[-1] == step:
        return True
    return any(p > 0 and any(s % p == 0 for s in range(max(1, step), step + stride + 1)) for p in periods)
