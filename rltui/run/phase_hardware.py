"""Phases x hardware: samples assigned to the phases of a step by the step's own timings. Pure functions.

A row is written when its step ends; the timers, in the order in which a step runs its phases, cut the time before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rltui.hardware.base import GpuSample, HardwareSample
from rltui.hardware.power import Gpu, idle_power, power_utilisation
from rltui.run.columns import Series
from rltui.run.medians import median
from rltui.run.run import Run
from rltui.run.table import Floats, Ints
from rltui.vocabulary.load import phases

GENERATION = "20 to 40 % of the power limit is normal: decoding waits for memory; larger batches raise it"
LEAST = 3  # samples of a phase, below which nothing is said about it
LOW = 0.6
"""A GPU that draws less than this share of its peers' power above idle, in the same phase, does less than they do."""
AHEAD = 2.0
"""A GPU that draws so many times its peers' power above idle still works while they wait."""
BUSY = 0.1  # power-based utilisation from which a GPU is at work: decoding draws little


@dataclass(frozen=True, slots=True)
class StepTiming:
    """A step that ended at `end` (seconds since the epoch) after `seconds`; its phases in the order they ran."""

    step: int
    end: float
    seconds: float
    phases: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A sample within a step; `phase` None where no timer covers that time."""

    step: int
    phase: str | None
    sample: HardwareSample


@dataclass(frozen=True, slots=True)
class PhaseHardware:
    """What the GPUs did in one phase. `power`: median power-based utilisation, `of_limit`: median power over the limit;
    memory in GB of the fullest GPU, least and most. None where no sample tells."""

    phase: str
    samples: int
    power: float | None
    of_limit: float | None
    memory_floor_gb: float | None
    memory_high_gb: float | None
    idle: tuple[Gpu, ...] = ()  # GPUs that do less than their peers
    ahead: tuple[Gpu, ...] = ()  # GPUs that still work while the others wait: they hold the phase up
    note: str = ""


def step_ends(run: Run, rows: int) -> Floats:
    """When each of the first `rows` rows was written, seconds since the epoch: by its time stamp, else by when it was
    seen to come; NaN unknown."""
    table = run.history.table
    times = np.array(table.times[:rows], dtype=np.float64)
    for step, at in run.pulse.beats:  # few, the rows may be many
        row = table.row_at(step)
        if row is not None and row < rows and np.isnan(table.times[row]):
            times[row] = at
    return times


def step_timings(run: Run, rows: int, most: int = 50) -> tuple[StepTiming, ...]:
    """The last `most` timed steps of the first `rows` rows. Phases that run beside each other are left out."""
    timer = run.series("time_per_step_s")
    if timer is None:
        return ()
    timer, ends = timer.until_row(rows).finite(), step_ends(run, rows)
    shares = run.phases(rows)
    keys = [] if shares.overlapped else [(item.name, item.key) for item in shares.items if item.key]
    if not len(timer):
        return ()
    first = int(timer.rows[-most:][0])
    timer = timer.since_row(first)
    logged = [(name, s.since_row(first)) for name, key in keys if (s := run.history.table.series(key))]
    recent = [(name, s.until_row(rows).finite()) for name, s in logged]
    by_row = [(name, dict(zip(s.rows.tolist(), s.values.tolist(), strict=True))) for name, s in recent]
    found = []
    for row, step, seconds in zip(timer.rows.tolist(), timer.steps.tolist(), timer.values.tolist(), strict=True):
        if np.isfinite(ends[row]) and seconds > 0:
            phases = tuple((name, values[row]) for name, values in by_row if values.get(row, 0.0) > 0)
            found.append(StepTiming(step, float(ends[row]), seconds, phases))
    return tuple(found)


def place(steps: Iterable[StepTiming], samples: Sequence[HardwareSample]) -> tuple[Placed, ...]:
    """The samples that lie within these steps, each with its phase. Both in order of time."""
    times = np.array([s.time for s in samples])
    found, before = [], -np.inf
    for step in steps:
        start = max(before, step.end - step.seconds)
        borders = start + np.cumsum([seconds for _, seconds in step.phases])
        for i in range(int(times.searchsorted(start)), int(times.searchsorted(step.end))):
            at = int(np.searchsorted(borders, times[i], "right"))
            found.append(Placed(step.step, step.phases[at][0] if at < len(step.phases) else None, samples[i]))
        before = step.end
    return tuple(found)


def by_phase(placed: Sequence[Placed], idle: Mapping[Gpu, float] | None = None) -> tuple[PhaseHardware, ...]:
    """One entry a phase, in the order in which they were seen. `idle`: watts of each GPU at rest, learned from these
    samples where not given."""
    rest = idle_power(p.sample for p in placed) if idle is None else idle
    generation = phases()["rollout"].label
    seen = dict.fromkeys(p.phase for p in placed if p.phase is not None)
    return tuple(
        _phase(name, [p.sample for p in placed if p.phase == name], rest, GENERATION if name == generation else "")
        for name in seen
    )


def per_step(
    ends: Floats,
    steps: Ints,
    samples: Sequence[HardwareSample],
    value: Callable[[HardwareSample], float | None],
    key: str,
    least: bool = False,
) -> Series:
    """The most (`least`: the least) of a value within each step, from the end of the row before to the row's own."""
    points = [(s.time, v) for s in samples if (v := value(s)) is not None]
    known = np.flatnonzero(np.isfinite(ends)) if points else np.zeros(0, dtype=np.int64)
    start = -np.inf
    best: dict[int, float] = {}
    borders = ends[known]
    if len(known):
        start = float(borders[0])
    for time, v in points:
        if time <= start:
            continue
        at = int(borders.searchsorted(time))
        if at < len(known):
            row = int(known[at])
            best[row] = v if row not in best else min(best[row], v) if least else max(best[row], v)
    rows = np.array(sorted(best), dtype=np.int64)
    values = np.array([best[int(r)] for r in rows], dtype=np.float64)
    return Series(key, steps[rows], values, rows, ends[rows], True)


def _phase(name: str, samples: list[HardwareSample], rest: Mapping[Gpu, float], note: str) -> PhaseHardware:
    by_gpu: dict[Gpu, list[GpuSample]] = {}
    for sample in samples:
        for gpu in sample.gpus:
            by_gpu.setdefault((gpu.node, gpu.index), []).append(gpu)
    power = {g: _powers(seen, rest.get(g)) for g, seen in by_gpu.items()}
    everyone = [v for values in power.values() for v in values]
    limits = [g.power_w / g.power_limit_w for seen in by_gpu.values() for g in seen if g.power_w and g.power_limit_w]
    memory = [g.memory_used_gb for seen in by_gpu.values() for g in seen if g.memory_used_gb is not None]
    floors = [min(values) for seen in by_gpu.values() if (values := _memories(seen))]
    return PhaseHardware(
        name,
        len(samples),
        median(np.array(everyone)) if everyone else None,
        median(np.array(limits)) if limits else None,
        max(floors, default=None),
        max(memory, default=None),
        _idle(power),
        _ahead(samples, rest),
        note,
    )


def _powers(seen: list[GpuSample], rest: float | None) -> list[float]:
    return [v for gpu in seen if (v := power_utilisation(gpu, rest)) is not None]


def _memories(seen: list[GpuSample]) -> list[float]:
    return [g.memory_used_gb for g in seen if g.memory_used_gb is not None]


def _idle(power: Mapping[Gpu, list[float]]) -> tuple[Gpu, ...]:
    """GPUs whose median lies below `LOW` of the median of all, where those work."""
    middle = {g: median(np.array(values)) for g, values in power.items() if len(values) >= LEAST}
    if len(middle) < 3:
        return ()
    usual = median(np.array(list(middle.values())))
    return tuple(g for g, value in middle.items() if usual >= BUSY and value < LOW * usual)


def _ahead(samples: list[HardwareSample], rest: Mapping[Gpu, float]) -> tuple[Gpu, ...]:
    """GPUs that work alone in at least 30 % of the samples of a phase."""
    alone: dict[Gpu, int] = {}
    for sample in samples:
        power = {
            (g.node, g.index): v
            for g in sample.gpus
            if (v := power_utilisation(g, rest.get((g.node, g.index)))) is not None
        }
        if len(power) < 3:
            continue
        usual = median(np.array(list(power.values())))
        working = [g for g, v in power.items() if v >= BUSY and v > AHEAD * usual]
        if 4 * len(working) <= len(power) or len(working) == 1:
            for g in working:
                alone[g] = alone.get(g, 0) + 1
    return tuple(g for g, count in alone.items() if len(samples) >= LEAST and count >= 0.3 * len(samples))
