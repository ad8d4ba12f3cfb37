"""What was measured of the machines, as far as it may be looked at: nothing after the time of the look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rltui.diagnosis.look import Look
from rltui.hardware.base import GpuSample, HardwareSample, HostSample
from rltui.hardware.power import Gpu, idle_power
from rltui.run.checkpoints import Checkpoint
from rltui.run.phase_hardware import PhaseHardware, Placed, by_phase, per_step, place, step_ends, step_timings
from rltui.run.run import Run
from rltui.run.table import Floats, Series

GIB = 1.073741824  # GB; trainers log memory in GiB
LAST_S = 300.0
"""What holds now is told from the samples of the last five minutes."""


@dataclass(frozen=True)
class Measured:
    """Samples of a look, oldest first, and what is known beside them. `ends`: when each row was written."""

    look: Look
    run: Run
    samples: tuple[HardwareSample, ...]
    ends: Floats
    checkpoints: tuple[Checkpoint, ...]
    following: bool

    @staticmethod
    def of(run: Run, look: Look, now: bool) -> Measured:
        """`now`: the run as it stands, with every sample there is; else nothing after the look's last row. Samples of
        this machine count only while the run is heard: what is copied here may run elsewhere."""
        ends = step_ends(run, look.n)
        known = ends[np.isfinite(ends)]
        until = np.inf if now else float(known[-1]) if len(known) else -np.inf
        samples = tuple(s for s in run.hardware if s.time <= until and (s.source != "live" or run.pulse.heard))
        return Measured(look, run, samples, ends, tuple(c for c in run.checkpoints if c.step <= look.step), now)

    @cached_property
    def newest(self) -> tuple[HardwareSample, ...]:
        """The samples of the last minutes."""
        return tuple(s for s in self.samples if s.time >= self.samples[-1].time - LAST_S) if self.samples else ()

    @cached_property
    def host(self) -> HostSample | None:
        """The newest host sample."""
        return next((s.host for s in reversed(self.newest) if s.host is not None), None)

    @cached_property
    def idle(self) -> dict[Gpu, float]:
        return idle_power(self.samples)

    @cached_property
    def placed(self) -> tuple[Placed, ...]:
        return place(step_timings(self.run, self.look.n), self.samples)

    @cached_property
    def phases(self) -> tuple[PhaseHardware, ...]:
        return by_phase(self.placed, self.idle)

    def of_gpu(self, gpu: Gpu) -> list[GpuSample]:
        """The newest samples of one GPU, oldest first."""
        return [g for s in self.newest for g in s.gpus if (g.node, g.index) == gpu]

    @cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        return tuple(dict.fromkeys((g.node, g.index) for s in self.newest for g in s.gpus))

    def by_step(self, value: Callable[[HardwareSample], float | None], key: str, least: bool = False) -> Series:
        return per_step(self.ends, self.look.steps, self.samples, value, key, least)

    @cached_property
    def ram(self) -> Series | None:
        """GB of host memory used, by step: as sampled, else as the trainer logs it."""
        sampled = self.by_step(lambda s: s.host.ram_used_gb if s.host is not None else None, "host memory")
        logged = self.look.series("cpu_mem_used")
        if logged is not None and len(logged) > len(sampled):
            return Series(logged.key, logged.steps, logged.values * GIB, logged.rows, logged.times, True)
        return sampled if len(sampled) else None

    @cached_property
    def planned(self) -> int | None:
        return self.look.settings.planned_steps


def name(gpu: Gpu) -> str:
    """A GPU for people."""
    return f"{gpu[0]} GPU {gpu[1]}".strip()
