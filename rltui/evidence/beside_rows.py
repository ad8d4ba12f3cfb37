"""What a rule may see beside the rows: samples, machines and the state of the run, but nothing later than
the judged row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
from msgspec import Struct, field

from rltui.evidence.look import Look
from rltui.evidence.model import Coverage, Evidence, Forecast
from rltui.evidence.ranking import Ranking
from rltui.evidence.shapes import describe
from rltui.evidence.trends import WINDOW
from rltui.hardware.base import Gpu, GpuSample, HardwareSample, HostSample
from rltui.records import cached
from rltui.rollouts.samples import Samples, SampleStats
from rltui.run.attempts import Crash
from rltui.run.checkpoints import Checkpoint
from rltui.run.contradictions import Contradiction
from rltui.run.hardware import (
    PhaseHardware,
    SampleColumns,
    by_phase,
    columns,
    per_step,
    place,
    row_time,
    step_ends,
    step_timings,
)
from rltui.run.run import Run, RunState
from rltui.run.sums import column_medians, median
from rltui.run.table import Floats, Ints, Series

SAMPLES = "samples."
Z = 1.96
"""Two-sided 95 %, for shares that are measured on a few dozen samples."""
GIB = 1.073741824  # GB; trainers log memory in GiB
MACHINE = ("gpu.", "host.")
"""The first part of the name of anything measured on a machine: `gpu.memory_used_gb@node1 GPU 3`,
`host.ram_used_gb`."""
LEAST_STEPS = 5
LAST_S = 300.0
"""How far back samples count as the present: five minutes."""


class Sampled(Struct, frozen=True, dict=True):
    """The dumps of a look, oldest first. A dump without a step describes the whole run, and only that."""

    look: Look
    samples: Samples
    dumps: tuple[SampleStats, ...]

    @staticmethod
    def of(run: Run, look: Look, now: bool) -> Sampled:
        """`now`: the run as far as it goes, including samples without a step; else as it was at the look."""
        samples = run.samples
        whole = now and not look.n
        step = samples.steps[-1] if whole and samples.steps else look.step
        dumps = samples.until(step) if look.n or whole else ()
        return Sampled(look, samples, (samples.nameless,) if now and samples.nameless is not None else dumps)

    @cached
    def floor(self) -> float | None:
        """The lowest reward seen in a dump."""
        return min((d.reward_min for d in self.dumps if d.reward_min is not None), default=None)

    @cached
    def ceiling(self) -> float | None:
        return max((d.reward_max for d in self.dumps if d.reward_max is not None), default=None)

    def holding(self, level: int, of: Callable[[SampleStats], int]) -> int | None:
        """The step of the first of the newest dumps that are all at this level or above."""
        since = None
        for one in reversed(self.dumps):
            if of(one) < level:
                break
            since = one.step
        return since

    def unread_before(self, step: int | None) -> int | None:
        """The step of the dump that was read before that of `step`, if dumps between them were not read."""
        earlier = [d.step for d in self.dumps if d.step is not None and step is not None and d.step < step]
        between = [one for one in self.samples.steps if earlier and step is not None and earlier[-1] < one < step]
        return earlier[-1] if between else None

    def evidence(self, field: str, text: str) -> Evidence:
        """The first, middle and newest dump in one of their numbers."""
        known = [(d.step, float(v)) for d in self.dumps if (v := getattr(d, field)) is not None]
        values = [value for _, value in known]
        first, mid, last = (values[0], values[len(values) // 2], values[-1]) if values else (None, None, None)
        slope = None
        if len(known) > 1 and known[0][0] is not None and known[-1][0] is not None and known[-1][0] > known[0][0]:
            slope = 100 * (values[-1] - values[0]) / (known[-1][0] - known[0][0])
        return Evidence(f"{SAMPLES}{field}", self.where, first, mid, last, slope, text)

    @property
    def where(self) -> str:
        """The dumps in words."""
        steps = [d.step for d in self.dumps if d.step is not None]
        if not steps:
            return "samples in the log"
        name = "validation samples" if self.dumps[-1].split == "validation" else "rollouts"
        return f"{name} of step {steps[0]}" if len(steps) == 1 else f"{name} of steps {steps[0]} to {steps[-1]}"


def low(share: float | None, n: int) -> float:
    """The lower bound of a share among `n` samples (Wilson's interval, 95 %); 0 if the share is not known."""
    return 0.0 if share is None or n < 1 else max(0.0, _centre(share, n) - _half(share, n))


def high(share: float | None, n: int) -> float:
    """The upper bound of a share among `n` samples; 1 if the share is not known."""
    return 1.0 if share is None or n < 1 else min(1.0, _centre(share, n) + _half(share, n))


def _centre(share: float, n: int) -> float:
    return (share + Z * Z / (2 * n)) / (1 + Z * Z / n)


def _half(share: float, n: int) -> float:
    return Z * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)


def settled(seen: Sampled, of: Callable[[SampleStats], int], dumps: int) -> int:
    """The level that each of the newest `dumps` reaches; 0 if there are fewer."""
    newest = seen.dumps[-dumps:]
    return min(map(of, newest)) if len(newest) == dumps else 0


class Measured(Struct, frozen=True, eq=False, dict=True):
    """The samples of a look, oldest first, and what is known beside them. `until`: the newest time at which a row is
    known to have been written, -inf if there is none."""

    look: Look
    run: Run
    seen: SampleColumns
    until: float
    checkpoints: tuple[Checkpoint, ...]
    foretold: dict[tuple[object, ...], Forecast | None] = field(default_factory=dict)

    @staticmethod
    def of(run: Run, look: Look, now: bool, seen: SampleColumns | None = None) -> Measured:
        """`now`: the run as it is, with every sample; else nothing after the look's last row. Samples of this machine
        count only while the run is alive: a run that was copied here may run elsewhere. `seen`: the columns of the
        run's samples, if they are already known."""
        seen = columns(run.hardware) if seen is None else seen
        until = row_time(run, look.n - 1) if look.n else np.nan
        if not np.isfinite(until):
            ends = step_ends(run, look.n)
            known = ends[np.isfinite(ends)]
            until = float(known[-1]) if len(known) else -np.inf
        if seen.samples and seen.samples[-1].source == "live" and not run.pulse.heard:
            seen = seen.until(-np.inf)
        elif not now:
            seen = seen.until(until)
        return Measured(look, run, seen, until, tuple(c for c in run.checkpoints if c.step <= look.step))

    def earlier(self, time: float) -> Measured:
        """The same rows with the samples up to a time."""
        return Measured(self.look, self.run, self.seen.until(time), self.until, self.checkpoints)

    @cached
    def ends(self) -> Floats:
        """The time at which each row was written, NaN if unknown. This copies a long run's times, so it is made only if
        needed."""
        return step_ends(self.run, self.look.n)

    @property
    def samples(self) -> tuple[HardwareSample, ...]:
        return self.seen.samples

    @cached
    def recent(self) -> SampleColumns:
        """The samples of the last minutes."""
        return self.seen.since(float(self.seen.times[-1]) - LAST_S) if len(self.seen) else self.seen

    @property
    def newest(self) -> tuple[HardwareSample, ...]:
        return self.recent.samples

    @cached
    def host(self) -> HostSample | None:
        """The newest host sample."""
        return next((s.host for s in reversed(self.newest) if s.host is not None), None)

    @cached
    def elsewhere(self) -> tuple[tuple[str, HostSample], ...]:
        """The newest host samples of the other nodes, by name."""
        return self.newest[-1].others if self.newest else ()

    @cached
    def phases(self) -> tuple[PhaseHardware, ...]:
        steps = step_timings(self.run, self.look.n)
        seen = self.seen.since(steps[0].end - steps[0].seconds) if steps else self.seen.until(-np.inf)
        return by_phase(place(steps, seen.times), seen)

    @cached
    def power_use(self) -> dict[Gpu, float]:
        """Median utilisation by power of each GPU in the last minutes; GPUs without power readings are left out."""
        middle = column_medians(self.recent.power_use(self.seen.idle_w()))
        return {g: float(v) for g, v in zip(self.seen.gpus, middle, strict=True) if np.isfinite(v)}

    def usual(self, column: str, samples: int) -> float | None:
        """Median of a column of the GPUs over the newest samples; None if none of them has a number."""
        known = self._newest(column, samples)
        return median(known) if len(known) else None

    def most(self, column: str, samples: int) -> float | None:
        """As `usual`, but the highest."""
        known = self._newest(column, samples)
        return float(known.max()) if len(known) else None

    def _newest(self, column: str, samples: int) -> Floats:
        whole = self.seen.power_use(self.seen.idle_w()) if column == "power" else self.seen.gpu[column]
        recent: Floats = whole[-samples:]
        return recent[np.isfinite(recent)]

    @cached
    def _newest_by_gpu(self) -> dict[Gpu, list[GpuSample]]:
        found: dict[Gpu, list[GpuSample]] = {}
        for sample in self.newest:
            for gpu in sample.gpus:
                found.setdefault((gpu.node, gpu.index), []).append(gpu)
        return found

    def of_gpu(self, gpu: Gpu) -> list[GpuSample]:
        """The newest samples of one GPU, oldest first."""
        return self._newest_by_gpu.get(gpu, [])

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        return tuple(self._newest_by_gpu)

    def by_step(self, values: Floats, key: str, least: bool = False) -> Series:
        """The greatest (`least`: the least) value of a column of the samples within each step."""
        if not len(self.seen):
            return Series(key, self.look.steps[:0], values, self.look.steps[:0], values, True)
        rows, best = per_step(self.ends, self.seen.times, values, least)
        return self._series(rows, best, key)

    def _series(self, rows: Ints, values: Floats, key: str) -> Series:
        known = np.isfinite(values)
        rows, values = rows[known], values[known]
        return Series(key, self.look.steps[rows], values, rows, self.ends[rows], True)

    @cached
    def _memory(self) -> dict[bool, tuple[Ints, Floats]]:
        used = self.seen.gpu["memory_used_gb"]
        return {least: per_step(self.ends, self.seen.times, used, least) for least in (False, True)}

    def gpu_memory(self, gpu: Gpu, least: bool = False) -> Series:
        """GB of a GPU's memory by step: the most, or (`least`) what remains when the phases have released theirs."""
        rows, values = self._memory[least]
        return self._series(rows, values[:, self.seen.gpus.index(gpu)], f"memory of GPU {gpu[1]}")

    @cached
    def free(self) -> Series:
        """GB free on the disk of the checkpoints, by step."""
        return self.by_step(self.seen.host["free_gb"], "free disk")

    @cached
    def ram_sampled(self) -> Series:
        return self.by_step(self.seen.host["ram_used_gb"], "host memory")

    @cached
    def ram(self) -> Series | None:
        """GB of host memory used, by step: as sampled, else as the trainer logs it."""
        sampled, logged = self.ram_sampled, self.look.series("cpu_mem_used")
        if logged is not None and len(logged) > len(sampled):
            return Series(logged.key, logged.steps, logged.values * GIB, logged.rows, logged.times, True)
        return sampled if len(sampled) else None

    @cached
    def saves(self) -> list[tuple[int, float, float]]:
        """(row, seconds, GB) of the checkpoints whose saving was timed: by its phase, else by how much longer than
        usual the step took from end to end."""
        sized = [c for c in self.checkpoints if c.size_gb and c.complete is not False]
        if not sized:
            return []
        timer = self.look.series("phase:save_checkpoint")
        gaps = np.diff(self.ends)
        usual = median(gaps[np.isfinite(gaps)][-WINDOW:])
        found = []
        for c in sized:
            row = int(self.look.steps.searchsorted(c.step))
            if row == self.look.n or self.look.steps[row] != c.step:
                continue
            if timer is not None:
                at = int(timer.rows.searchsorted(row))
                seconds = float(timer.values[at]) if at < len(timer) and timer.rows[at] == row else 0.0
            else:
                seconds = float(gaps[row - 1]) - usual if row else 0.0
            if c.size_gb and seconds > 0:
                found.append((row, seconds, c.size_gb))
        return found

    @cached
    def logged_peak(self) -> Series | None:
        """GiB of GPU memory at its peak as the trainer logs it: what it reserved, else what it allocated."""
        names = ("gpu_mem_reserved_peak", "gpu_mem_allocated_peak")
        return next((s for name in names if (s := self.look.series(name)) is not None), None)

    @cached
    def capacity_gb(self) -> float | None:
        """Memory of a GPU in GB, from its name in the run's own records ("NVIDIA H100 80GB HBM3")."""
        found = re.search(r"(\d{2,3})\s?GB", self.run.info.get("gpu", ""))
        return float(found[1]) * GIB if found else None

    def evidence(self, name: str, text: str) -> Evidence | None:
        """The numbers of a column of the samples (see `MACHINE`) by step; by sample if they span too few steps. None if
        the column was not sampled."""
        metric, _, gpu = name.partition("@")
        of, _, column = metric.partition(".")
        if of == "gpu":
            at = next((i for i, one in enumerate(self.seen.gpus) if f"{one[0]} GPU {one[1]}".strip() == gpu), None)
            values = None if at is None else self.seen.gpu[column][:, at]
        else:
            values = self.seen.host[column]
        if values is None or not np.isfinite(values).any():
            return None
        by_step = self.by_step(values, gpu or of, least=column == "free_gb")
        if len(by_step) >= LEAST_STEPS:
            found = describe(by_step)
            return Evidence(metric, gpu or of, found.first, found.mid, found.last, found.slope, text)
        known = values[np.isfinite(values)]
        first, mid, last = (float(known[i]) for i in (0, len(known) // 2, -1))
        return Evidence(metric, gpu or of, first, mid, last, None, text)

    @cached
    def planned(self) -> int | None:
        return self.look.settings.planned_steps


def name(gpu: Gpu) -> str:
    """The name of a GPU in texts."""
    return f"{gpu[0]} GPU {gpu[1]}".strip()


class Standing(Struct, frozen=True):
    """`state`: None for a run as it was at an earlier row. `broken_at`: the step from which on its states are not to be
    trusted, None if there is none. `contradictions`: where two of its sources give different values for the same steps.
    `ungraded`: the steps after which a log says that answers could not be graded, and its first message. `ends`: what
    ended the attempts before the last one, oldest first, as far as the logs name it."""

    look: Look
    state: RunState | None
    coverage: Coverage
    ranked: Ranking | None
    saved: Sequence[Checkpoint]
    broken_at: int | None
    contradictions: Sequence[Contradiction] = ()
    ungraded: tuple[Sequence[int], str] = ((), "")
    ends: Sequence[Crash] = ()

    @property
    def over(self) -> bool:
        """Whether no further save will come."""
        return self.state is not None and self.state.over
