"""The hardware of a run: samples of its machines as columns, so that numpy answers a question about all of them at
once. The step's own timers assign each sample to a phase.

Utilisation is derived from power: a GPU's own figure only shows that some kernel ran, so a rank that waits for others
shows 100 %. A row is written when its step ends. The timers, in the order in which a step runs its phases, divide the
time before that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rltui.frameworks.load import phases
from rltui.hardware.base import Gpu, GpuSample, HardwareSample, HostSample
from rltui.run.run import Run
from rltui.run.sums import column_medians, median
from rltui.run.table import Floats, Ints

IDLE_SHARE = 0.15
"""Idle power as a share of the limit, if the GPU was never seen idle: about 60 of 400 W on an A100 SXM, 70 to 100 of
700 W on an H100 SXM."""

OF_GPU = ("memory_used_gb", "memory_total_gb", "power_w", "power_limit_w", "util", "foreign_gb")
OF_HOST = ("ram_used_gb", "free_gb", "aside")
Flags = NDArray[np.bool_]

GENERATION = "20 to 40 % of the power limit is normal: decoding waits for memory, and larger batches raise it"
IN_USE_GB = 1.0  # a GPU with less memory in use is unused: the driver alone holds some hundred MB
LEAST = 3  # samples that a phase needs before one of its GPUs is called idle or ahead
LOW = 0.6
"""A GPU does less than its peers if it draws less than this share of their power above idle in the same phase."""
AHEAD = 2.0
"""A GPU that draws this many times its peers' power above idle is still working while they wait."""
BUSY = 0.1  # least power-based utilisation of a GPU at work: decoding draws little


class SampleColumns(Struct, frozen=True, eq=False):
    """A row for each sample, oldest first, and a column for each GPU; NaN if nothing was measured.

    `gpu` holds arrays of shape (samples, GPUs) by the names in `OF_GPU`, `host` arrays of shape (samples,) by those in
    `OF_HOST`. `foreign_gb`: memory that other users' processes hold (inf if a dead process holds any). `free_gb`: free
    space on the disk of the checkpoints, else of the run's directory. `aside`: 1 if a job ran beside the training.
    """

    samples: tuple[HardwareSample, ...]
    times: Floats
    gpus: tuple[Gpu, ...]
    gpu: Mapping[str, Floats]
    host: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.samples)

    def until(self, time: float) -> SampleColumns:
        """The samples taken up to `time`, seconds since the epoch."""
        return self._cut(slice(0, int(self.times.searchsorted(time, "right"))))

    def since(self, time: float) -> SampleColumns:
        return self._cut(slice(int(self.times.searchsorted(time)), None))

    def of_gpus(self, chosen: NDArray[np.bool_]) -> SampleColumns:
        """The samples with only the chosen GPUs (columns)."""
        if chosen.all():
            return self
        gpus = tuple(gpu for gpu, taken in zip(self.gpus, chosen.tolist(), strict=True) if taken)
        gpu = {name: x[:, chosen] for name, x in self.gpu.items()}
        return SampleColumns(self.samples, self.times, gpus, gpu, self.host)

    def _cut(self, at: slice) -> SampleColumns:
        if at.indices(len(self)) == (0, len(self), 1):
            return self
        gpu, host = ({name: x[at] for name, x in of.items()} for of in (self.gpu, self.host))
        return SampleColumns(self.samples[at], self.times[at], self.gpus, gpu, host)

    def idle_w(self) -> Floats:
        """The watts of each GPU at rest: learned from samples in which no kernel ran, else `IDLE_SHARE` of its
        limit."""
        at_rest = np.where(self.gpu["util"] == 0.0, self.gpu["power_w"], np.nan)
        learned = np.fmin.reduce(at_rest, axis=0, initial=np.nan)
        limit = np.fmax.reduce(self.gpu["power_limit_w"], axis=0, initial=np.nan)
        idle: Floats = np.where(np.isfinite(learned), learned, IDLE_SHARE * limit)
        return idle

    def power_use(self, idle_w: Floats) -> Floats:
        """(power - idle) / (limit - idle) of every GPU at every sample, clipped to 0..1."""
        span = self.gpu["power_limit_w"] - idle_w
        use: Floats = np.clip((self.gpu["power_w"] - idle_w) / np.where(span > 0, span, np.nan), 0.0, 1.0)
        return use


def columns(samples: tuple[HardwareSample, ...]) -> SampleColumns:
    """Samples as columns."""
    alike: dict[tuple[Gpu, ...], list[int]] = {}  # GPUs of a sample -> the samples of exactly these
    for row, sample in enumerate(samples):
        alike.setdefault(tuple([(g.node, g.index) for g in sample.gpus]), []).append(row)
    gpus = tuple(dict.fromkeys(gpu for known in alike for gpu in known))
    at = {gpu: i for i, gpu in enumerate(gpus)}
    gpu = np.full((len(samples), len(gpus), len(OF_GPU)), np.nan)
    for known, rows in alike.items():
        if known:
            gpu[np.ix_(rows, [at[g] for g in known])] = np.array(
                [[_of_gpu(g) for g in samples[row].gpus] for row in rows], dtype=np.float64
            )
    host = np.array([_of_host(s.host) for s in samples], dtype=np.float64).reshape(len(samples), len(OF_HOST))
    times = np.array([s.time for s in samples], dtype=np.float64)
    by_gpu = {name: gpu[:, :, i].copy() for i, name in enumerate(OF_GPU)}
    return SampleColumns(samples, times, gpus, by_gpu, {name: host[:, i].copy() for i, name in enumerate(OF_HOST)})


def _of_gpu(g: GpuSample) -> tuple[float | None, ...]:
    """The values of a GPU in the order of `OF_GPU`; None becomes NaN."""
    foreign = 0.0
    for p in g.processes:
        if p.zombie or p.ours is False:
            foreign += np.inf if p.zombie else p.memory_gb or 0.0
    return g.memory_used_gb, g.memory_total_gb or None, g.power_w, g.power_limit_w or None, g.util, foreign


def _of_host(host: HostSample | None) -> tuple[float | None, ...]:
    """The values of a host in the order of `OF_HOST`."""
    if host is None:
        return (None,) * len(OF_HOST)
    free = next((d.free_gb for d in host.disks if "checkpoints" in d.what and d.free_gb is not None), host.disk_free_gb)
    return host.ram_used_gb, free, float(any(p.aside for p in host.processes))


class ColumnCache:
    """The columns of samples that are appended and thinned out. Only new samples are converted."""

    def __init__(self) -> None:
        self._of = columns(())

    def of(self, samples: tuple[HardwareSample, ...]) -> SampleColumns:
        old = self._of.samples
        if samples is not old:
            self._of = self._updated(samples)
        return self._of

    def _updated(self, samples: tuple[HardwareSample, ...]) -> SampleColumns:
        old, n = self._of, len(self._of)
        if n and len(samples) >= n and samples[n - 1] is old.samples[-1]:
            kept, fresh = old, samples[n:]
        else:
            known = {id(s): i for i, s in enumerate(old.samples)}
            held = [i for s in samples if (i := known.get(id(s))) is not None]
            if not held or any(id(s) in known for s in samples[len(held) :]):
                return columns(samples)  # others, or in another order
            pick = np.array(held, dtype=np.int64)
            gpu, host = ({name: x[pick] for name, x in of.items()} for of in (old.gpu, old.host))
            kept = SampleColumns(samples[: len(held)], old.times[pick], old.gpus, gpu, host)
            fresh = samples[len(held) :]
        new = columns(fresh)
        if set(new.gpus) - set(kept.gpus):
            return columns(samples)
        place = [kept.gpus.index(g) for g in new.gpus]
        wide = {name: np.full((len(fresh), len(kept.gpus)), np.nan) for name in OF_GPU}
        for name, x in new.gpu.items():
            wide[name][:, place] = x
        return SampleColumns(
            samples,
            np.concatenate((kept.times, new.times)),
            kept.gpus,
            {name: np.concatenate((kept.gpu[name], wide[name])) for name in OF_GPU},
            {name: np.concatenate((kept.host[name], new.host[name])) for name in OF_HOST},
        )


class StepTiming(Struct, frozen=True):
    """A step that ended at `end` (seconds since the epoch) after `seconds`, with its phases in the order in which they
    ran."""

    step: int
    end: float
    seconds: float
    phases: tuple[tuple[str, float], ...]


class Placed(Struct, frozen=True, eq=False):
    """The step and phase of each sample. `steps`: -1 between two steps. `phases`: an index into `names`, or -1 if no
    timer covers that time."""

    names: tuple[str, ...]
    steps: Ints
    phases: Ints


class PhaseHardware(Struct, frozen=True):
    """What the GPUs did in one phase. `power`: the median power-based utilisation. `of_limit`: the median of power over
    the limit. Memory: the least and most GB of the fullest GPU. None if no sample shows it."""

    phase: str
    samples: int
    power: float | None
    of_limit: float | None
    memory_floor_gb: float | None
    memory_high_gb: float | None
    idle: tuple[Gpu, ...] = ()  # GPUs that do less than their peers
    ahead: tuple[Gpu, ...] = ()  # GPUs that still work while the others wait: they delay the phase
    note: str = ""


def step_ends(run: Run, rows: int) -> Floats:
    """When each of the first `rows` rows was written (see `written`)."""
    table = run.history.table
    return written(table.steps[:rows], table.times[:rows], run.pulse.beats)


def written(steps: Ints, times: Floats, beats: Sequence[tuple[int, float]]) -> Floats:
    """When each row was written, in seconds since the epoch: its time stamp, else the time when it arrived (`beats`:
    step, seconds); NaN if unknown."""
    if not len(steps) or not beats:
        return times
    seen, heard = (np.array(column) for column in zip(*beats, strict=True))  # few beats, maybe many rows
    at = np.minimum(steps.searchsorted(seen), len(steps) - 1)
    untold = (steps[at] == seen) & np.isnan(times[at])
    if untold.any():
        times = times.copy()
        times[at[untold]] = heard[untold]
    return times


def row_time(run: Run, row: int) -> float:
    """When a row was written (see `step_ends`)."""
    table = run.history.table
    if table.times[row] == table.times[row]:
        return float(table.times[row])
    step = int(table.steps[row])
    return next((at for seen, at in reversed(run.pulse.beats) if seen == step), float("nan"))


def step_timings(run: Run, rows: int, most: int = 50) -> tuple[StepTiming, ...]:
    """The last `most` timed steps of the first `rows` rows. Phases that overlap are left out."""
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


def place(steps: Iterable[StepTiming], times: Floats) -> Placed:
    """The step and the phase in which each sample lies. Steps and times must be in order."""
    numbers: dict[str, int] = {}
    edges, of_step, of_phase = [-np.inf], [-1], [-1]  # the step and the phase from each edge on
    before = -np.inf
    for step in steps:
        start = max(before, step.end - step.seconds)
        for name, seconds in step.phases:
            edges.append(min(start, step.end))
            of_step.append(step.step)
            of_phase.append(numbers.setdefault(name, len(numbers)))
            start += seconds
        edges += [min(start, step.end), step.end]
        of_step += [step.step, -1]
        of_phase += [-1, -1]
        before = step.end
    at = np.array(edges).searchsorted(times, "right") - 1
    return Placed(tuple(numbers), np.array(of_step)[at], np.array(of_phase)[at])


def by_phase(placed: Placed, seen: SampleColumns) -> tuple[PhaseHardware, ...]:
    """One entry for each phase with samples, in the order in which a step runs them. GPUs without memory in use do not
    belong to the run. Power and memory are those of the GPUs that work in any phase."""
    held = np.fmax.reduce(seen.gpu["memory_used_gb"], axis=0, initial=np.nan)
    seen = seen.of_gpus(~(held < IN_USE_GB))
    use = seen.power_use(seen.idle_w())
    works: Flags = np.asarray((np.nan_to_num(use[placed.phases >= 0]) >= BUSY).any(axis=0))
    works |= not works.any()
    generation = phases()["rollout"].label
    rows = [(name, np.flatnonzero(placed.phases == i)) for i, name in enumerate(placed.names)]
    return tuple(
        _phase(name, seen, use[at], at, works, GENERATION if name == generation else "") for name, at in rows if len(at)
    )


def per_step(ends: Floats, times: Floats, values: Floats, least: bool = False) -> tuple[Ints, Floats]:
    """Rows, and the largest value in each (the smallest with `least`), from the end of the previous row to its own end.
    `values`: one for each sample, or for each sample and GPU; NaN if unknown. Rows without a sample are left out."""
    known = np.flatnonzero(np.isfinite(ends))
    at = ends[known].searchsorted(times)
    inside = (at > 0) & (at < len(known))
    at, values = at[inside], values[inside]
    if not len(at):
        return known[:0], values
    first = np.flatnonzero(np.diff(at, prepend=-1))
    best: Floats = (np.fmin if least else np.fmax).reduceat(values, first, axis=0)
    return known[at[first]], best


def _phase(name: str, seen: SampleColumns, use: Floats, at: Ints, works: Flags, note: str) -> PhaseHardware:
    memory = seen.gpu["memory_used_gb"][at][:, works]
    of_limit = (seen.gpu["power_w"][at] / seen.gpu["power_limit_w"][at])[:, works]
    working = use[:, works]
    return PhaseHardware(
        name,
        len(at),
        _known(median(working[np.isfinite(working)])),
        _known(median(of_limit[np.isfinite(of_limit)])),
        _most(np.fmin.reduce(memory, axis=0, initial=np.nan)),
        _most(memory),
        tuple(seen.gpus[i] for i in _idle(use)),
        tuple(seen.gpus[i] for i in _ahead(use)),
        note,
    )


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _most(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.max()) if len(known) else None


def _idle(use: Floats) -> list[int]:
    """GPUs whose median power use is below `LOW` of the median GPU's, if that one works."""
    middle = column_medians(use)
    middle[np.isfinite(use).sum(axis=0) < LEAST] = np.nan
    known = middle[np.isfinite(middle)]
    if len(known) < 3 or median(known) < BUSY:
        return []
    return [int(i) for i in np.flatnonzero(middle < LOW * median(known))]


def _ahead(use: Floats) -> list[int]:
    """GPUs that work alone or with few others in at least 30 % of the samples of a phase."""
    count = np.isfinite(use).sum(axis=1)
    usual = column_medians(use.T)[:, None]
    working = (use >= BUSY) & (use > AHEAD * usual) & (count >= 3)[:, None]
    few = (4 * working.sum(axis=1) <= count) | (working.sum(axis=1) == 1)
    alone = (working & few[:, None]).sum(axis=0)
    return [int(i) for i in np.flatnonzero((alone >= 0.3 * len(use)) & (alone > 0))] if len(use) >= LEAST else []
