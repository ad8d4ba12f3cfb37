"""Typed hardware samples. A value that a driver or a container does not report is None, never zero."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

ProcessState = Literal["running", "sleeping", "disk", "stopped", "traced", "zombie", "gone"]


Gpu = tuple[str, int]
"""A GPU among all GPUs of a run: node and index."""


class GpuProcess(Struct, frozen=True):
    """A process that holds GPU memory. Memory in GB. `user` and `command` are None if the OS hides them.

    `ours`: it belongs to the watched run. None if that is unknown (hidden, or no run).
    """

    pid: int
    memory_gb: float | None
    user: str | None = None
    command: str | None = None
    ours: bool | None = None
    zombie: bool | None = None  # ended but not collected by its parent; None if the OS hides it


class GpuSample(Struct, frozen=True):
    """One GPU at one time. Memory is in GB (1e9 bytes), power in W, `util` a fraction 0..1, temperature in degrees C.

    `throttle`: why the clock is held below its maximum, e.g. "thermal", "power cap"; () if it is not held.
    `ecc_uncorrected`: errors since the driver was loaded. `xids`: critical errors since sampling began.
    """

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
    sm_clock_mhz: float | None = None
    sm_clock_max_mhz: float | None = None
    throttle: tuple[str, ...] | None = None
    ecc_uncorrected: int | None = None
    xids: tuple[int, ...] | None = None
    mig: bool | None = None  # split into instances: memory and processes are those of the whole card
    lost: bool = False  # it was there when sampling began and no longer answers


class DiskSample(Struct, frozen=True):
    """The file system that holds a directory. `what`: the roles of the directory: "checkpoints", "log", "Ray"."""

    what: str
    path: str
    free_gb: float | None
    total_gb: float | None


class HostProcess(Struct, frozen=True):
    """A process that is relevant to a run, with its role (`process_roles.json`). Memory in GB."""

    pid: int
    role: str
    command: str | None
    rss_gb: float | None
    ours: bool | None = None
    aside: bool = False  # a job beside the training that may slow it: a merger, an uploader


class HostSample(Struct, frozen=True):
    """The host at one time. `ram_total_gb` is the cgroup's limit if that is below the machine's memory."""

    ram_used_gb: float | None = None
    ram_total_gb: float | None = None
    cpu: float | None = None  # fraction 0..1 of all cores
    load1: float | None = None
    cpus: int | None = None
    disk_free_gb: float | None = None  # of the run's directory
    disk_total_gb: float | None = None
    limited_by: str | None = None  # "cgroup" if the container's limit is below the machine's memory
    swap_used_gb: float | None = None
    swap_total_gb: float | None = None
    shm_used_gb: float | None = None  # /dev/shm, which object stores and data loaders use
    shm_total_gb: float | None = None
    pressure_cpu: float | None = None  # PSI: share of the last 10 s in which some task waited, 0..1
    pressure_memory: float | None = None
    pressure_io: float | None = None
    disks: tuple[DiskSample, ...] = ()
    processes: tuple[HostProcess, ...] = ()


class ProcessFact(Struct, frozen=True):
    """One process of a trainer. `cpu`: cores busy lately; None until known. `how`: how it was found, "log" (it writes
    the run's log) or "directory" (it works in the run's directory, or its command names that: it may be another
    program)."""

    pid: int
    name: str
    state: ProcessState
    cpu: float | None = None
    how: str = "log"


class HardwareSample(Struct, frozen=True):
    """All GPUs and the host at one time (seconds since the epoch). `note`: why GPUs are absent. If the run uses several
    nodes, `host` is the first node and `others` are the other nodes by name."""

    time: float
    gpus: tuple[GpuSample, ...] = ()
    host: HostSample | None = None
    note: str = ""
    source: str = "live"  # "live" | "recorded"
    others: tuple[tuple[str, HostSample], ...] = ()


class HardwareHistory(Struct):
    """The samples, oldest first, at most `limit` (4 or more). The newer half is kept whole. The older half is thinned
    out each time the limit is reached, so memory that fills up over hours can still be seen from its beginning."""

    limit: int = 600
    samples: list[HardwareSample] = field(default_factory=list)

    def add(self, sample: HardwareSample) -> None:
        self.samples.append(sample)
        if len(self.samples) > self.limit:
            del self.samples[1 : len(self.samples) // 2 : 2]


_BACK = 8


def newest(samples: tuple[HardwareSample, ...]) -> tuple[tuple[GpuSample, ...], HostSample | None]:
    """The newest GPUs and the newest host in the last few samples: some recorders write one of them more often."""
    last = samples[: -_BACK - 1 : -1]
    return next((s.gpus for s in last if s.gpus), ()), next((s.host for s in last if s.host is not None), None)
