"""The processes that matter to a run, by what their command line says; and whether a process belongs to the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from rltui.data_files import Record, kept, read
from rltui.frameworks.load import dialect, dialect_names
from rltui.hardware.base import HostProcess
from rltui.text import clean

GB = 1e9
_COMMAND = 400  # characters
_MOST = 64
_SHELLS = ("bash", "sh", "zsh", "dash", "fish", "tmux", "screen", "vim", "less", "tail", "grep", "ssh", "sudo")


class Role(Record):
    """What a process is to a run. `aside`: it works beside the training. `any`: what its command line holds one of.
    `of_frameworks`: or what the frameworks say of their trainers."""

    role: str
    aside: bool
    any: tuple[str, ...] = ()
    of_frameworks: bool = False


class Roles(Record):
    """In the order in which a command line is held against them."""

    roles: tuple[Role, ...]


@kept
def _roles() -> tuple[tuple[str, bool, tuple[str, ...]], ...]:
    known = read(Path(__file__).with_name("process_roles.json"), Roles).roles
    trainers = tuple(word for name in dialect_names() for word in dialect(name).processes)
    return tuple((r.role, r.aside, r.any + trainers if r.of_frameworks else r.any) for r in known)


def role_words() -> list[str]:
    """All that a command line may hold of processes with a role."""
    return [word for _, _, words in _roles() for word in words]


def role_of(command: str) -> tuple[str, bool] | None:
    """(role, whether it is a job beside the training) of a command line, None for any other process. A shell or an
    editor that merely names such a program is none."""
    program = os.path.basename(command.split(" ", 1)[0])
    if program in _SHELLS or "rltui" in command:
        return None
    return next(((role, aside) for role, aside, words in _roles() if any(w in command for w in words)), None)


def may_be_ours(command: str) -> bool:
    """A trainer or an engine of the run's user: Ray starts such in sessions and directories of its own."""
    found = role_of(command)
    return found is not None and not found[1]


class RoleWatch:
    """Finds the processes with a role, of all users. Linux; else none."""

    def __init__(self, belongs: Callable[[int], bool | None] | None = None, proc: str = "/proc") -> None:
        self._belongs = belongs
        self._proc = proc
        self._page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

    def look(self) -> tuple[HostProcess, ...]:
        """Largest first."""
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
    descends from one, works in the run's directory or writes below it. Of a trainer of the same user that does none of
    it nobody can tell. Safe to ask from another thread."""

    def __init__(self, root: str, known: Callable[[], Iterable[int]]) -> None:
        self._root = os.path.realpath(root)
        self._known = known

    def __call__(self, pid: int) -> bool | None:
        """None where the OS hides the process (another container, another user's)."""
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
    except (OSError, OverflowError):  # of another container a driver may tell any 32 bits
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
