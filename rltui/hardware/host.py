"""The host: memory within the cgroup's limits, swap, /dev/shm, pressure, CPU, load, disks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from rltui.agent.hardware import cgroup_memory
from rltui.hardware.base import DiskSample, HostProcess, HostSample
from rltui.hardware.processes import RoleWatch

GB = 1e9
RAY_DIRECTORY = "/tmp/ray"
"""Where Ray spills its object store and writes its logs by default."""


class HostReader:
    """Reads samples of this machine. A value that the OS does not report is None; nothing raises.

    `disks`: purpose ("checkpoints", "log", "Ray") -> another directory whose file system is read.
    """

    def __init__(
        self,
        disk_path: str | None,
        disks: Mapping[str, str] | None = None,
        belongs: Callable[[int], bool | None] | None = None,
    ) -> None:
        self._disk_path = disk_path
        self._disks = {**(disks or {}), "Ray": RAY_DIRECTORY}
        self._roles = RoleWatch(belongs)
        self._processes: tuple[HostProcess, ...] = ()
        self._psutil: Any = import_module("psutil")
        self._cpu_known = False

    def read(self, processes: bool = True) -> HostSample:
        """A full sample of now. `processes=False` repeats the last list of processes."""
        if processes:
            self._processes = self._roles.look()
        swap_used, swap_total = self._swap()
        shm_free, shm_total = disk("/dev/shm")
        used, total, limited_by = self._memory()
        disk_free, disk_total = disk(self._disk_path)
        return HostSample(
            ram_used_gb=used / GB if used is not None else None,
            ram_total_gb=total / GB if total is not None else None,
            cpu=self._cpu(),
            load1=_load1(),
            cpus=self._psutil.cpu_count(),
            disk_free_gb=disk_free,
            disk_total_gb=disk_total,
            limited_by=limited_by,
            swap_used_gb=swap_used,
            swap_total_gb=swap_total,
            shm_used_gb=shm_total - shm_free if shm_total is not None and shm_free is not None else None,
            shm_total_gb=shm_total,
            pressure_cpu=pressure("cpu"),
            pressure_memory=pressure("memory"),
            pressure_io=pressure("io"),
            disks=disks_of(self._disks),
            processes=self._processes,
        )

    def _swap(self) -> tuple[float | None, float | None]:
        try:
            swap = self._psutil.swap_memory()
        except (self._psutil.Error, OSError, RuntimeError):
            return None, None
        return swap.used / GB, swap.total / GB

    def _memory(self) -> tuple[int | None, int | None, str | None]:
        try:
            machine = self._psutil.virtual_memory()
        except (self._psutil.Error, OSError, RuntimeError):
            return None, None, None
        group = cgroup_memory()
        if group is not None and group.limit < machine.total:
            return group.used, group.limit, "cgroup"
        return machine.total - machine.available, machine.total, None

    def _cpu(self) -> float | None:
        """The share of all cores that was busy since the last call; None at the first call."""
        try:
            share: float = self._psutil.cpu_percent(None) / 100
        except (self._psutil.Error, OSError, RuntimeError):
            return None
        known, self._cpu_known = self._cpu_known, True
        return share if known else None


def _load1() -> float | None:
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):
        return None


def disk(path: str | None) -> tuple[float | None, float | None]:
    """(free, total) GB of the file system that holds `path`; free means free for an ordinary user. None if unknown."""
    try:
        stat = os.statvfs(path) if path is not None else None
    except (OSError, ValueError, AttributeError):
        return None, None
    if stat is None or not stat.f_blocks:
        return None, None
    return stat.f_bavail * stat.f_frsize / GB, stat.f_blocks * stat.f_frsize / GB


def disks_of(directories: Mapping[str, str]) -> tuple[DiskSample, ...]:
    """One sample for each file system. Directories on the same one share it ("checkpoints, log"). Absent directories
    are left out."""
    found: dict[int, tuple[list[str], str]] = {}
    for what, path in directories.items():
        try:
            device = os.stat(path).st_dev
        except (OSError, ValueError):
            continue
        found.setdefault(device, ([], path))[0].append(what)
    return tuple(DiskSample(", ".join(what), path, *disk(path)) for what, path in found.values())


def pressure(of: str, folder: str = "/proc/pressure") -> float | None:
    """The share (0..1) of the last 10 s in which some task waited for `of` (cpu, memory, io); None without PSI."""
    try:
        with open(f"{folder}/{of}", encoding="ascii", errors="replace") as file:
            first = file.readline().split()
        return float(first[1].removeprefix("avg10=")) / 100
    except (OSError, ValueError, IndexError):
        return None
