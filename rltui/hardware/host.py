"""The host: memory as this process may use it (cgroup limits included), CPU, load, disk of the run's directory."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from rltui.hardware.base import HostSample
from rltui.hardware.cgroup import cgroup_memory

GB = 1e9


class HostReader:
    """Samples of this machine. What the OS does not tell is None; nothing raises."""

    def __init__(self, disk_path: str | None) -> None:
        self._disk_path = disk_path
        self._psutil: Any = import_module("psutil")
        self._cpu_known = False

    def read(self) -> HostSample:
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
        )

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
        """Since the last call; the first call has nothing to compare with."""
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
    """(free, total) GB of the file system that holds `path`, free as an ordinary user may use it; None unknown."""
    try:
        stat = os.statvfs(path) if path is not None else None
    except (OSError, ValueError, AttributeError):
        return None, None
    if stat is None or not stat.f_blocks:
        return None, None
    return stat.f_bavail * stat.f_frsize / GB, stat.f_blocks * stat.f_frsize / GB
