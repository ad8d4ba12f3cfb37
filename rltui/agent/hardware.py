"""Hardware of a machine where nothing is installed: its GPUs (`far_gpu`), its processes, /proc and the cgroup.

Plain numbers in the units of `base`, under its names; what is not told is None. `remote` makes samples of them.

Also sent to remote machines: Python 3.6 and the standard library only.
"""

import os
import time
from typing import Any

from rltui.agent.cgroup import cgroup_memory
from rltui.agent.gpus import GB, Gpus
from rltui.agent.processes import Processes

_PROCESSES_EVERY = 10  # samples: walks all processes of the machine


class FarSampler:
    """Reads GPUs and host of this machine. Not thread-safe.

    `disk`: the run's directory; `disks`: further ones whose file systems count, by what they are for; `words`: what
    command lines hold of processes that matter.
    """

    def __init__(
        self, disk: "str | None" = None, disks: "dict[str, str] | None" = None, words: "list[str] | None" = None
    ) -> None:
        self._disk = disk
        self._disks = disks or {}
        self._busy = None  # type: tuple[int, int] | None  # busy and all CPU ticks at the last sample
        self._gpus = Gpus()
        self._processes = Processes(words or [], disk)
        self._known = []  # type: list[dict[str, Any]]
        self._count = 0

    def sample(self) -> "dict[str, Any]":
        """One sample: `time`, `gpus`, `host`, `processes`, and a `note` where there are no GPUs."""
        gpus, note = self._gpus.read()
        if self._count % _PROCESSES_EVERY == 0:
            self._known = self._processes.look({p["pid"] for gpu in gpus for p in gpu.get("processes", [])})
        self._count += 1
        return {"time": time.time(), "gpus": gpus, "host": self._host(), "processes": self._known, "note": note}

    def _host(self) -> "dict[str, Any]":
        memory = _meminfo()
        total, available = memory.get("MemTotal"), memory.get("MemAvailable")
        used = total - available if total is not None and available is not None else None
        group, limited = cgroup_memory(), None
        if group is not None and (total is None or group.limit < total):
            used, total, limited = group.used, group.limit, "cgroup"
        free, size = _disk(self._disk)
        shm_free, shm_size = _disk("/dev/shm")
        swap, swap_free = memory.get("SwapTotal"), memory.get("SwapFree")
        return {
            "ram_used_gb": used / GB if used is not None else None,
            "ram_total_gb": total / GB if total is not None else None,
            "cpu": self._cpu(),
            "load1": os.getloadavg()[0],
            "cpus": os.cpu_count(),
            "disk_free_gb": free,
            "disk_total_gb": size,
            "limited_by": limited,
            "swap_used_gb": (swap - swap_free) / GB if swap is not None and swap_free is not None else None,
            "swap_total_gb": swap / GB if swap is not None else None,
            "shm_used_gb": shm_size - shm_free if shm_size is not None and shm_free is not None else None,
            "shm_total_gb": shm_size,
            "pressure_cpu": _pressure("cpu"),
            "pressure_memory": _pressure("memory"),
            "pressure_io": _pressure("io"),
            "disks": self._all_disks(),
        }

    def _all_disks(self) -> "list[dict[str, Any]]":
        """One a file system; directories on the same one share it."""
        found = {}  # type: dict[int, tuple[list[str], str]]
        for what, path in self._disks.items():
            try:
                found.setdefault(os.stat(path).st_dev, ([], path))[0].append(what)
            except (OSError, ValueError):
                continue
        sizes = [(", ".join(what), path, _disk(path)) for what, path in found.values()]
        return [{"what": what, "path": path, "free_gb": free, "total_gb": size} for what, path, (free, size) in sizes]

    def _cpu(self) -> "float | None":
        """Share of all cores since the last call; None the first time."""
        first = (_lines("/proc/stat") or [""])[0].split()
        if not first or first[0] != "cpu":
            return None
        ticks = [int(value) for value in first[1:9]]  # user nice system idle iowait irq softirq steal
        everything = sum(ticks)
        now, before = (everything - ticks[3] - ticks[4], everything), self._busy
        self._busy = now
        if before is None or now[1] <= before[1]:
            return None
        return (now[0] - before[0]) / (now[1] - before[1])


def _meminfo() -> "dict[str, int]":
    """Bytes by name."""
    rows = [line.replace(":", "").split() for line in _lines("/proc/meminfo")]
    return {row[0]: int(row[1]) * 1024 for row in rows if len(row) > 1 and row[1].isdigit()}


def _pressure(of: str) -> "float | None":
    """Share of the last 10 s in which some task waited; None without PSI."""
    words = (_lines("/proc/pressure/" + of) or [""])[0].split()
    try:
        return float(words[1].replace("avg10=", "")) / 100
    except (ValueError, IndexError):
        return None


def _disk(path: "str | None") -> "tuple[float | None, float | None]":
    try:
        found = os.statvfs(path) if path is not None else None
    except (OSError, ValueError):
        found = None
    if found is None or not found.f_blocks:
        return None, None
    return found.f_bavail * found.f_frsize / GB, found.f_blocks * found.f_frsize / GB


def _lines(path: str) -> "list[str]":
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
