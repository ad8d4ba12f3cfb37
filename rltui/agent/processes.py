"""Processes of a machine where nothing is installed: those on the GPUs, and those whose command line says that they
matter to a run. Linux; else none.

Also sent to remote machines: Python 3.6 and the standard library only.
"""

import os
import pwd
from typing import Any

GB = 1e9
_COMMAND = 400  # characters
_FILES = 256
_MOST = 64


class Processes:
    """`words`: what a command line holds that matters. `root`: the run's directory, None where none is known."""

    def __init__(self, words: "list[str]", root: "str | None") -> None:
        self._words = words
        self._root = os.path.realpath(root) if root else None
        self._page = os.sysconf("SC_PAGE_SIZE")
        self._users = {}  # type: dict[int, str | None]

    def look(self, on_gpus: "set[int]") -> "list[dict[str, Any]]":
        """pid, command, user, memory (GB), whether it is a zombie, and whether it belongs to the run."""
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
            else:  # foreign only where the run's own processes are known by their place
                one["ours"] = False if own and at_home[pid] is not None else None
        return sorted(found.values(), key=lambda one: (one["pid"] not in on_gpus, -(one["rss_gb"] or 0.0)))[:_MOST]

    def _at_home(self, pid: int) -> "bool | None":
        """It works in the run's directory or has a file of it open; None where the OS hides that."""
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
