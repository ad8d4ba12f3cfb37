"""The trainer's processes on this machine, found by the log that they write, and whether they work.

Nothing here raises; what the OS hides is left out. Only processes of the same user are looked at.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from rltui.hardware.base import ProcessFact, ProcessState
from rltui.text import clean

SEARCH_EVERY_S = 20.0
"""A search walks the open files of all processes of the user; a look at known ones costs next to nothing."""
LOOK_EVERY_S = 2.0
CPU_WINDOW_S = 5.0
"""CPU use is told over at least so many seconds, so that a wait between two batches is no idleness."""
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
"""Write or pass on a log and train nothing; the group that they belong to holds the trainer."""
_TRAINERS = ("python", "ray::", "torchrun", "accelerate", "deepspeed")
_NOT_TRAINERS = ("rltui", "tensorboard", "jupyter", "ipykernel", "wandb sync", "wandb beta")


class ProcessWatch:
    """Finds who writes `files` (else: whose command line or working directory is the run's) and follows them.

    `look` is cheap to call often. Not thread-safe.
    """

    def __init__(self, files: Iterable[str], root: str) -> None:
        self._files = {os.path.realpath(path) for path in files}
        self._root = os.path.realpath(root)
        self._known: dict[int, Any] = {}
        self._how: dict[int, str] = {}
        self._gone: dict[int, ProcessFact] = {}
        self._cpu: dict[int, tuple[float, float, float | None]] = {}  # when, CPU seconds then, cores since before
        self._searched = self._looked = float("-inf")
        self._facts: tuple[ProcessFact, ...] = ()

    def look(self, now: float | None = None) -> tuple[ProcessFact, ...]:
        """What is known of the trainer's processes; those that have ended since stay as "gone" until others come."""
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
            self._gone.clear()  # a worker that ended while others go on says nothing
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
        """A Python process that names the run on its command line or works in its directory."""
        try:
            command = " ".join(process.cmdline())
            if not any(word in command[:400] for word in _TRAINERS) or any(w in command for w in _NOT_TRAINERS):
                return False
            return self._root in command or _within(process.cwd(), self._root)
        except (psutil.Error, OSError):
            return False


def _written(pid: int) -> Iterator[str]:
    """Files that a process has open for writing."""
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


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


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
