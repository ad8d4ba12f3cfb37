"""The processes that are relevant to a run: the role of each, from its command line, and whether it belongs to the run.
Also the processes of the trainer, found by the log that they write, and whether they work.

Nothing here raises; what the OS hides is left out. The search for the trainer covers only the user's own processes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from rltui.data_files import Record, kept, read
from rltui.frameworks.load import dialect, dialect_names
from rltui.hardware.base import HostProcess, ProcessFact, ProcessState
from rltui.text import clean

GB = 1e9
_COMMAND = 400  # characters
_MOST = 64
_SHELLS = ("bash", "sh", "zsh", "dash", "fish", "tmux", "screen", "vim", "less", "tail", "grep", "ssh", "sudo")
SEARCH_EVERY_S = 20.0
"""A search goes through the open files of all the user's processes. Checking known processes costs next to nothing."""
LOOK_EVERY_S = 2.0
CPU_WINDOW_S = 5.0
"""CPU use is averaged over at least this many seconds, so that a wait between two batches does not look idle."""
LIMIT = 256
_STATES: dict[str, ProcessState] = {
    "running": "running",
    "sleeping": "sleeping",
    "idle": "sleeping",
    "waking": "running",
    "disk-sleep": "disk",
    "stopped": "stopped",
    "tracing-stop": "traced",
    "zombie": "zombie",
    "dead": "gone",
}
_HELPERS = frozenset({"tee", "bash", "sh", "zsh", "fish", "dash", "tail", "less", "script", "wandb-core", "nohup"})
"""Programs that write or forward a log but do not train. The trainer is in the same process group."""
_TRAINERS = ("python", "ray::", "torchrun", "accelerate", "deepspeed")
_NOT_TRAINERS = ("rltui", "tensorboard", "jupyter", "ipykernel", "wandb sync", "wandb beta")


class Role(Record):
    """What a process does for a run. `aside`: it works beside the training. `any`: its command line holds one of these
    words. `of_frameworks`: it may also hold one of the words that the frameworks' data files name for their
    trainers."""

    role: str
    aside: bool
    any: tuple[str, ...] = ()
    of_frameworks: bool = False


class Roles(Record):
    """The roles, in the order in which a command line is compared with them. The first match counts."""

    roles: tuple[Role, ...]


@kept
def _roles() -> tuple[tuple[str, bool, tuple[str, ...]], ...]:
    known = read(Path(__file__).with_name("process_roles.json"), Roles).roles
    trainers = tuple(word for name in dialect_names() for word in dialect(name).processes)
    return tuple((r.role, r.aside, r.any + trainers if r.of_frameworks else r.any) for r in known)


def role_words() -> list[str]:
    """All words that give a command line a role."""
    return [word for _, _, words in _roles() for word in words]


def role_of(command: str) -> tuple[str, bool] | None:
    """(role, whether it is a job beside the training) for a command line; None for any other process. A shell or an
    editor whose command line only names such a program has no role."""
    program = os.path.basename(command.split(" ", 1)[0])
    if program in _SHELLS or "rltui" in command:
        return None
    return next(((role, aside) for role, aside, words in _roles() if any(w in command for w in words)), None)


def may_be_ours(command: str) -> bool:
    """Whether the process may be part of a training: a trainer, a sampler, or Ray. Ray starts these in its own sessions
    and directories, so neither shows to whom they belong."""
    found = role_of(command)
    return found is not None and not found[1]


class RoleWatch:
    """Finds the processes of all users that have a role. Linux only: elsewhere it finds none."""

    def __init__(self, belongs: Callable[[int], bool | None] | None = None, proc: str = "/proc") -> None:
        self._belongs = belongs
        self._proc = proc
        self._page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

    def look(self) -> tuple[HostProcess, ...]:
        """The processes, largest first."""
        try:
            pids = [int(name) for name in os.listdir(self._proc) if name.isdecimal()]
        except OSError:
            return ()
        found = []
        for pid in pids:
            command = _command_of(pid, self._proc)
            known = role_of(command) if command else None
            if known is not None:
                role, aside = known
                ours = self._belongs(pid) if self._belongs is not None else None
                found.append(HostProcess(pid, role, clean(command, _COMMAND), self._rss(pid), ours, aside))
        return tuple(sorted(found, key=lambda p: (-(p.rss_gb or 0.0), p.pid))[:_MOST])

    def _rss(self, pid: int) -> float | None:
        try:
            with open(f"{self._proc}/{pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * self._page / GB
        except (OSError, ValueError, IndexError):
            return None


class Belonging:
    """Whether a process belongs to a run: it is one of the run's known processes, shares the process group of one,
    descends from one, works in the run's directory or has a file open there. For a trainer of the same user to which
    none of this applies, the answer is None. Safe to call from another thread."""

    def __init__(self, root: str, known: Callable[[], Iterable[int]]) -> None:
        self._root = os.path.realpath(root)
        self._known = known

    def __call__(self, pid: int) -> bool | None:
        """None also if the OS hides the process (another container, another user)."""
        known = set(self._known())
        if pid in known:
            return True
        group = _group(pid)
        if group is None:
            return None
        if any(group == _group(other) for other in known) or known & set(_ancestors(pid)):
            return True
        places = [f"/proc/{pid}/cwd", *_files(pid)]
        seen = [path for place in places if (path := _target(place)) is not None]
        if any(path == self._root or path.startswith(self._root + os.sep) for path in seen):
            return True
        if not seen and not known:
            return None
        own = {uid for other in known if (uid := _owner(other)) is not None} or {os.getuid()}
        return None if _owner(pid) in own and may_be_ours(_command_of(pid)) else False


def _owner(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def _command_of(pid: int, proc: str = "/proc") -> str:
    try:
        with open(f"{proc}/{pid}/cmdline", "rb") as file:
            return file.read(4 * _COMMAND).replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except (OSError, OverflowError):  # for another container a driver may return any 32 bits as pid
        return None


def _ancestors(pid: int) -> list[int]:
    found: list[int] = []
    while pid > 1 and len(found) < 32:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                pid = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
        found.append(pid)
    return found


def _files(pid: int) -> list[str]:
    try:
        return [f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd")[:256]]
    except OSError:
        return []


def _target(link: str) -> str | None:
    try:
        return os.readlink(link)
    except OSError:
        return None


class ProcessWatch:
    """Finds and follows the processes that write `files`, or else those that name the run or work in its directory.

    `look` is cheap to call often. Not thread-safe.
    """

    def __init__(self, files: Iterable[str], root: str) -> None:
        self._files = {os.path.realpath(path) for path in files}
        self._root = os.path.realpath(root)
        self._known: dict[int, Any] = {}
        self._how: dict[int, str] = {}
        self._gone: dict[int, ProcessFact] = {}
        self._cpu: dict[int, tuple[float, float, float | None]] = {}  # when, CPU seconds then, cores used before
        self._searched = self._looked = float("-inf")
        self._facts: tuple[ProcessFact, ...] = ()

    def look(self, now: float | None = None) -> tuple[ProcessFact, ...]:
        """What is known about the trainer's processes. If all have ended, they stay as "gone" until others are
        found."""
        now = time.monotonic() if now is None else now
        if now - self._looked < LOOK_EVERY_S:
            return self._facts
        self._looked = now
        try:
            psutil: Any = import_module("psutil")
            if not self._known and now - self._searched >= SEARCH_EVERY_S:
                self._searched = now
                self._search(psutil)
            self._facts = tuple(self._read(psutil, now))
        except OSError:
            self._facts = ()
        return self._facts

    def _read(self, psutil: Any, now: float) -> list[ProcessFact]:
        facts = []
        for pid, process in list(self._known.items()):
            try:
                with process.oneshot():
                    state = _STATES.get(process.status(), "sleeping") if process.is_running() else "gone"
                    name = clean(process.name(), 60)
                    used = sum(process.cpu_times()[:2])
                fact = ProcessFact(pid, name, state, self._cores(pid, used, now), self._how[pid])
            except psutil.NoSuchProcess:
                fact = ProcessFact(pid, "", "gone", how=self._how[pid])
            except psutil.Error:
                continue
            if fact.state == "gone":
                del self._known[pid]
                self._gone[pid] = fact
            else:
                facts.append(fact)
        if facts:
            self._gone.clear()  # a worker that ends while others continue means nothing
        return facts or list(self._gone.values())

    def _cores(self, pid: int, used: float, now: float) -> float | None:
        since, before, cores = self._cpu.setdefault(pid, (now, used, None))
        if now - since >= CPU_WINDOW_S:
            cores = max(0.0, used - before) / (now - since)
            self._cpu[pid] = (now, used, cores)
        return cores

    def _search(self, psutil: Any) -> None:
        own = {os.getpid(), *(p.pid for p in psutil.Process().parents())}
        mine = [p for p in psutil.process_iter() if p.pid not in own and _is_mine(p, psutil)]
        writers = [p for p in mine if self._writes(p, psutil)]
        groups = {_group(p.pid) for p in writers} - {None, *(_group(pid) for pid in own)}
        found = [p for p in mine if _group(p.pid) in groups or p in writers]
        trainers = [p for p in found if not _is_helper(p, psutil)] or writers
        how = "log"
        if not trainers:
            how = "directory"
            trainers = [p for p in mine if self._belongs(p, psutil)]
        self._known = {p.pid: p for p in trainers[:LIMIT]}
        if self._known:
            self._how = dict.fromkeys(self._known, how)
            self._cpu = {}
            self._gone.clear()

    def _writes(self, process: Any, psutil: Any) -> bool:
        if os.path.isdir("/proc/self/fd"):
            return any(path in self._files for path in _written(process.pid))
        try:
            return any(os.path.realpath(f.path) in self._files for f in process.open_files())
        except (psutil.Error, OSError):
            return False

    def _belongs(self, process: Any, psutil: Any) -> bool:
        """Whether the command line is a trainer's, and names the run's directory or the process works there."""
        try:
            command = " ".join(process.cmdline())
            if not any(word in command[:400] for word in _TRAINERS) or any(w in command for w in _NOT_TRAINERS):
                return False
            return self._root in command or _within(process.cwd(), self._root)
        except (psutil.Error, OSError):
            return False


def _written(pid: int) -> Iterator[str]:
    """The files that a process has open for writing."""
    base = f"/proc/{pid}/fd"
    try:
        numbers = os.listdir(base)
    except OSError:
        return
    for number in numbers:
        try:
            path = os.readlink(f"{base}/{number}")
            if not path.startswith("/") or path.startswith("/dev/"):
                continue
            with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii", errors="replace") as info:
                flags = next((line.split()[1] for line in info if line.startswith("flags:")), "0")
            if int(flags, 8) & (os.O_WRONLY | os.O_RDWR):
                yield path
        except (OSError, ValueError, IndexError):
            continue


def _is_mine(process: Any, psutil: Any) -> bool:
    try:
        return bool(process.uids().real == os.getuid())
    except (psutil.Error, OSError):
        return False


def _is_helper(process: Any, psutil: Any) -> bool:
    try:
        return process.name() in _HELPERS
    except (psutil.Error, OSError):
        return True


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
