"""Reads the hardware of a machine where nothing is installed: GPUs, processes relevant to a run, /proc, the cgroup.

Values are plain numbers with the names and units in `rltui/hardware/base.py`; None if unknown.
`rltui/hardware/remote.py` makes samples from them.

Also sent to remote machines: Python 3.6 and the standard library only.
"""

import os
import pwd
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rltui.agent.gpus import GB, Gpus

if TYPE_CHECKING:
    from collections.abc import Iterator


_COMMAND = 400  # characters
_FILES = 256
_MOST = 64


class Processes:
    """Processes that hold a GPU, or have one of `words` in their command line. `root`: the run's directory, if
    known."""

    def __init__(self, words: "list[str]", root: "str | None") -> None:
        self._words = words
        self._root = os.path.realpath(root) if root else None
        self._page = os.sysconf("SC_PAGE_SIZE")
        self._users = {}  # type: dict[int, str | None]

    def look(self, on_gpus: "set[int]") -> "list[dict[str, Any]]":
        """For each process: pid, command, user, memory (GB), whether it is a zombie, and whether it belongs to the
        run."""
        found = {}  # type: dict[int, dict[str, Any]]
        for pid in _pids():
            command = _command(pid)
            matters = pid in on_gpus or any(word in command for word in self._words)
            if matters and pid != os.getpid() and len(found) < 4 * _MOST:
                found[pid] = {"pid": pid, "command": command[:_COMMAND] or None}
        groups = {pid: _group(pid) for pid in found}
        at_home = {pid: self._at_home(pid) for pid in found}
        own = {groups[pid] for pid, there in at_home.items() if there}
        for pid, one in found.items():
            one["user"], one["rss_gb"] = self._user(pid), self._memory(pid)
            one["zombie"] = _is_zombie(pid)
            if at_home[pid] or groups[pid] in own:
                one["ours"] = True
            else:  # foreign only if some of the run's own processes are known from their place
                one["ours"] = False if own and at_home[pid] is not None else None
        return sorted(found.values(), key=lambda one: (one["pid"] not in on_gpus, -(one["rss_gb"] or 0.0)))[:_MOST]

    def _at_home(self, pid: int) -> "bool | None":
        """Whether the process works in the run's directory or has a file open there. None if the OS hides that."""
        if self._root is None:
            return None
        try:
            names = os.listdir(f"/proc/{pid}/fd")[:_FILES]
        except OSError:
            return None
        places = (_target(f"/proc/{pid}/{name}") for name in ["cwd", *("fd/" + name for name in names)])
        return any(place == self._root or place.startswith(self._root + os.sep) for place in places)

    def _user(self, pid: int) -> "str | None":
        try:
            uid = os.stat(f"/proc/{pid}").st_uid
        except OSError:
            return None
        if uid not in self._users:
            try:
                self._users[uid] = pwd.getpwuid(uid).pw_name
            except KeyError:
                self._users[uid] = str(uid)
        return self._users[uid]

    def _memory(self, pid: int) -> "float | None":
        try:
            return int(_read(f"/proc/{pid}/statm").split()[1]) * self._page / GB
        except (ValueError, IndexError):
            return None


def _pids() -> "list[int]":
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _command(pid: int) -> str:
    return _read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()


def _is_zombie(pid: int) -> "bool | None":
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[0] == "Z" if fields else None


def _group(pid: int) -> "int | None":
    try:
        return os.getpgid(pid)
    except (OSError, OverflowError):
        return None


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096)
    except OSError:
        return ""


class GroupMemory(NamedTuple):
    """Bytes used (without droppable file cache) and allowed."""

    used: int
    limit: int


def cgroup_memory(
    membership: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> "GroupMemory | None":
    """The memory of the cgroup of this process, or of the one above it that has the least room left. None without a
    limit.

    It reads version 2 (`memory.max`, `memory.current`) and version 1 (`memory.limit_in_bytes`,
    `memory.usage_in_bytes`). Inside a container the path in `membership` may be that of the host, so all groups up to
    the mount's root are tried.
    """
    found = [m for m in (_read_group(*place) for place in _group_places(membership, root)) if m is not None]
    return min(found, key=lambda m: m.limit - m.used, default=None)


def _group_places(membership: Path, root: Path) -> "Iterator[tuple[Path, str, str, str]]":
    """(directory, limit file, usage file, name of droppable cache) for each group, innermost first."""
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


def _read_group(directory: Path, limit_file: str, usage_file: str, cache_name: str) -> "GroupMemory | None":
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


def _integer(path: Path) -> "int | None":
    """The number in a one-line file; None if it is absent, unreadable or `max`."""
    try:
        return int(path.read_text(encoding="ascii", errors="replace"))
    except (OSError, ValueError):
        return None


_PROCESSES_EVERY = 10  # samples, as a search goes through all processes of the machine


class FarSampler:
    """Reads GPUs and host of this machine. Not thread-safe.

    `disk`: the run's directory. `disks`: purpose -> another directory whose file system is read. `words`: see
    `Processes`.
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
        """One sample: `time`, `gpus`, `host`, `processes`, and a `note` with the reason if there are no GPUs."""
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
        """One entry for each file system. Directories on the same file system share an entry."""
        found = {}  # type: dict[int, tuple[list[str], str]]
        for what, path in self._disks.items():
            try:
                found.setdefault(os.stat(path).st_dev, ([], path))[0].append(what)
            except (OSError, ValueError):
                continue
        sizes = [(", ".join(what), path, _disk(path)) for what, path in found.values()]
        return [{"what": what, "path": path, "free_gb": free, "total_gb": size} for what, path, (free, size) in sizes]

    def _cpu(self) -> "float | None":
        """The share of all cores that was busy since the last call; None the first time."""
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
    """Name -> bytes."""
    rows = [line.replace(":", "").split() for line in _lines("/proc/meminfo")]
    return {row[0]: int(row[1]) * 1024 for row in rows if len(row) > 1 and row[1].isdigit()}


def _pressure(of: str) -> "float | None":
    """The share of the last 10 s in which some task waited; None without PSI."""
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
