"""Typed hardware samples. Everything that a driver or a container may refuse to tell is None, never zero."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

ProcessState = Literal["running", "sleeping", "disk", "stopped", "traced", "zombie", "gone"]


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process that holds GPU memory. Memory in GB; `user` and `command` None where the OS hides them."""

    pid: int
    memory_gb: float | None
    user: str | None = None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One GPU at one time. Memory in GB (1e9 bytes), power in W, `util` a fraction 0..1, temperature in degrees C."""

    node: str
    index: int
    name: str | None = None
    memory_used_gb: float | None = None
    memory_total_gb: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    util: float | None = None
    temp_c: float | None = None
    processes: tuple[GpuProcess, ...] = ()


@dataclass(frozen=True, slots=True)
class HostSample:
    """Host at one time. `ram_total_gb` is the cgroup limit where one is set below the machine's memory."""

    ram_used_gb: float | None = None
    ram_total_gb: float | None = None
    cpu: float | None = None  # fraction 0..1 of all cores
    load1: float | None = None
    cpus: int | None = None
    disk_free_gb: float | None = None  # of the run's directory
    disk_total_gb: float | None = None
    limited_by: str | None = None  # "cgroup" where the container's limit is below the machine's memory


@dataclass(frozen=True, slots=True)
class ProcessFact:
    """One process of a trainer. `cpu`: cores busy lately, None before that is known. `how` it was found: "log" (it
    writes the run's log) or "directory" (it works there, or names it: it may be another program)."""

    pid: int
    name: str
    state: ProcessState
    cpu: float | None = None
    how: str = "log"


@dataclass(frozen=True, slots=True)
class HardwareSample:
    """All GPUs and the host at one time (seconds since the epoch). `note` says why GPUs are absent."""

    time: float
    gpus: tuple[GpuSample, ...] = ()
    host: HostSample | None = None
    note: str = ""
    source: str = "live"  # "live" | "recorded"


@dataclass(slots=True)
class HardwareHistory:
    """The last samples, oldest first, bounded."""

    limit: int = 600
    samples: list[HardwareSample] = field(default_factory=list)

    def add(self, sample: HardwareSample) -> None:
        self.samples.append(sample)
        if len(self.samples) > self.limit:
            del self.samples[: len(self.samples) - self.limit]
