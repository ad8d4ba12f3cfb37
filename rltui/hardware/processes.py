"""Who a process is: user and command line, asked once per process (a pid may be used again: the start time tells)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rltui.text import clean

Identity = tuple[str | None, str | None]  # user, command
_COMMAND_LIMIT = 400  # characters
_CACHE_LIMIT = 1024


class ProcessNames:
    """Cached user and command of processes; None where the OS hides them or the process is gone."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, float], Identity] = {}

    def of(self, pid: int) -> Identity:
        psutil: Any = import_module("psutil")
        try:
            process = psutil.Process(pid)
            key = (pid, process.create_time())
        except (psutil.Error, OSError, ValueError):
            return None, None
        if key not in self._known:
            if len(self._known) >= _CACHE_LIMIT:
                self._known.clear()
            self._known[key] = (_ask(process.username, psutil), _ask(lambda: " ".join(process.cmdline()), psutil))
        return self._known[key]


def is_zombie(pid: int) -> bool | None:
    """Ended and not collected; None where the process cannot be seen (ended, or of another container)."""
    psutil: Any = import_module("psutil")
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except (psutil.Error, OSError, ValueError):
        return None


def _ask(call: Any, psutil: Any) -> str | None:
    try:
        return clean(call(), _COMMAND_LIMIT) or None
    except (psutil.Error, OSError, KeyError, ValueError):
        return None
