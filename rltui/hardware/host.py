"""The host: memory as this process may use it (cgroup limits included), CPU, load, disk of the run's directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rltui.hardware.base import HostSample

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


@dataclass(frozen=True, slots=True)
class GroupMemory:
    """Bytes used (without file cache that can be dropped) and allowed."""

    used: int
    limit: int


def cgroup_memory(
    membership: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> GroupMemory | None:
    """The cgroup with the least room left, of this process and all groups around it; None where nothing is limited.

    Version 2 (`memory.max`, `memory.current`) and version 1 (`memory.limit_in_bytes`, `memory.usage_in_bytes`). Inside
    a container the written path may be the host's: what does not exist there is looked up from the mount's root.
    """
    found = [m for m in (_read_group(*place) for place in _group_places(membership, root)) if m is not None]
    return min(found, key=lambda m: m.limit - m.used, default=None)


def _group_places(membership: Path, root: Path) -> Iterator[tuple[Path, str, str, str]]:
    """(directory, limit file, usage file, name of droppable cache) of the groups, innermost first."""
    try:
        lines = membership.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            files = ("memory.max", "memory.current", "inactive_file")
            mounts = [root, root / "unified"]
        elif "memory" in controllers.split(","):
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            mounts = [root / controllers, root / "memory"]
        else:
            continue
        parts = [p for p in path.split("/") if p not in ("", ".", "..")]
        for mount in dict.fromkeys(mounts):
            for depth in range(len(parts), -1, -1):
                yield (mount.joinpath(*parts[:depth]), *files)


def _read_group(directory: Path, limit_file: str, usage_file: str, cache_name: str) -> GroupMemory | None:
    limit, used = _integer(directory / limit_file), _integer(directory / usage_file)
    if limit is None or used is None:
        return None
    cache = 0
    try:
        with open(directory / "memory.stat", encoding="ascii", errors="replace") as stat:
            for line in stat:
                name, _, value = line.partition(" ")
                if name == cache_name:
                    cache = int(value)
                    break
    except (OSError, ValueError):
        cache = 0
    return GroupMemory(max(0, used - cache), limit)


def _integer(path: Path) -> int | None:
    """The number in a one-line file; None where absent, unreadable or `max`."""
    try:
        return int(path.read_text(encoding="ascii", errors="replace"))
    except (OSError, ValueError):
        return None


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
