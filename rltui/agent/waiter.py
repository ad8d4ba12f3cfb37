"""Sleeps until a file may have changed. Inotify wakes it where that works; a slow check of each path wakes it
everywhere.

An idle wait checks once a second (a `stat` of each path, because inotify is silent on network file systems), or four
times a second without inotify. A file that is written continuously wakes it at most 25 times a second.

Also sent to remote machines: Python 3.6 and the standard library only.
"""

import ctypes
import math
import os
import select
import struct
import sys
import time

_MODIFY, _ATTRIB = 0x2, 0x4
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x4000, 0x8000
_ONLY_DIRECTORY = 0x01000000
_OF_FILE = _MODIFY | _ATTRIB | _DELETE_SELF | _MOVE_SELF
_OF_DIRECTORY = _CREATE | _DELETE | _MOVED_FROM | _MOVED_TO | _DELETE_SELF | _MOVE_SELF | _ONLY_DIRECTORY
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name


class Inotify:
    """Watches files (bytes, attributes) and directories (names that come and go). Raises OSError if there is no
    inotify."""

    def __init__(self) -> None:
        if not sys.platform.startswith("linux"):
            raise OSError("inotify is Linux only")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)

    def watch_file(self, path: str) -> "int | None":
        """The number of the watch; None if it cannot be set (no such file, too many watches)."""
        return self._watch(path, _OF_FILE)

    def watch_directory(self, path: str) -> "int | None":
        """Like `watch_file`, for the names in a directory. A change inside its files is not an event."""
        return self._watch(path, _OF_DIRECTORY)

    def unwatch(self, watch: int) -> None:
        self._libc.inotify_rm_watch(self._descriptor, watch)

    def events(self, timeout_s: float) -> "list[tuple[int, str]] | None":
        """(watch, name in its directory or "") for each change within the time; None if events were lost."""
        if not self._poll.poll(max(0, math.ceil(timeout_s * 1000))):
            return []
        found = []  # type: list[tuple[int, str]]
        data = os.read(self._descriptor, 1 << 16)
        position = 0
        while position < len(data):
            watch, mask, _, length = _EVENT.unpack_from(data, position)
            position += _EVENT.size
            name = os.fsdecode(data[position : position + length].rstrip(b"\0"))
            position += length
            if mask & _OVERFLOW:
                return None
            if not mask & _IGNORED:
                found.append((watch, name))
        return found

    def close(self) -> None:
        os.close(self._descriptor)

    def _watch(self, path: str, mask: int) -> "int | None":
        try:
            name = os.fsencode(path)
        except ValueError:
            return None
        if b"\0" in name:
            return None
        watch: int = self._libc.inotify_add_watch(self._descriptor, name, mask)
        return watch if watch >= 0 else None


_SLOW_POLL_S = 1.0
_POLL_S = 0.25
_MIN_GAP_S = 0.04
"""The least time between two wake-ups. A single log line is shown at once; if a thousand come each second, many are
shown together."""


class Waiter:
    """Remembers between waits how each path looked, so that a change between two waits is not missed.

    Only one thread may use it at a time.
    """

    def __init__(self, use_inotify: bool = True) -> None:
        self._inotify = None  # type: Inotify | None
        if use_inotify:
            try:
                self._inotify = Inotify()
            except (OSError, AttributeError):  # no inotify in this kernel or C library, or too many instances
                self._inotify = None
        self._paths = ()  # type: tuple[str, ...]
        self._seen = {}  # type: dict[str, tuple[int, ...] | None]  # () before the first look
        self._watches = {}  # type: dict[int, set[str]]  # watch of a file, or of a directory -> its paths
        self._unwatched = False  # a path that exists could not be watched
        self._last_wake = 0.0

    def wait(self, paths: "list[str]", timeout_s: float) -> bool:
        """True as soon as one of the paths may have changed, was replaced, appeared or vanished. A path that was not in
        the last wait counts as changed. False when the time is over."""
        deadline = time.monotonic() + timeout_s
        if tuple(paths) != self._paths:
            self._follow(paths)
        woken = False
        while not woken:
            woken = self._changed()
            remaining = deadline - time.monotonic()
            if woken or remaining <= 0:
                break
            woken = self._sleep(remaining)
        if woken:
            self._pace(deadline)
            self._changed()
        return woken

    def close(self) -> None:
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def _sleep(self, remaining_s: float) -> bool:
        """Sleeps at most until the next check. True if inotify reports that one of our paths changed."""
        if self._inotify is None:
            time.sleep(min(remaining_s, _POLL_S))
            return False
        pause_s = min(remaining_s, _POLL_S if self._unwatched else _SLOW_POLL_S)
        wanted = time.monotonic() + pause_s
        while True:
            left = wanted - time.monotonic()
            if left <= 0:
                return False
            events = self._inotify.events(left)
            if events is None or any(self._concerns(watch, name) for watch, name in events):
                return True
            if events:  # other files of the same directory: do not wake up for each of them
                time.sleep(min(_MIN_GAP_S, max(0.0, wanted - time.monotonic())))

    def _pace(self, deadline: float) -> None:
        """Delays a wake-up that follows the last one too closely."""
        gap = self._last_wake + _MIN_GAP_S - time.monotonic()
        if gap > 0:
            time.sleep(max(0.0, min(gap, deadline - time.monotonic())))
        if self._inotify is not None:
            self._inotify.events(0)
        self._last_wake = time.monotonic()

    def _changed(self) -> bool:
        """Checks every path and remembers its state. True if any changed."""
        changed = False
        for path in self._paths:
            now = _signature(path)
            before = self._seen.get(path, ())
            if now != before:
                changed = True
                self._seen[path] = now
                if before == () or now is None or before is None or now[:2] != before[:2]:
                    self._watch(path)
        return changed

    def _follow(self, paths: "list[str]") -> None:
        """Takes a new list of paths and forgets those not in it. The next check watches the new ones."""
        self._paths = tuple(paths)
        kept = set(paths)
        self._seen = {path: seen for path, seen in self._seen.items() if path in kept}
        for watch, watched in list(self._watches.items()):
            watched &= kept
            if not watched:
                del self._watches[watch]
                if self._inotify is not None:
                    self._inotify.unwatch(watch)

    def _watch(self, path: str) -> None:
        """Watches the file for its bytes, and its directory for its name (created, replaced, deleted)."""
        if self._inotify is None:
            return
        directory = os.path.dirname(path) or "."
        watch_itself = self._inotify.watch_directory if os.path.isdir(path) else self._inotify.watch_file
        found = [self._inotify.watch_directory(directory), watch_itself(path)]
        for watch in found:
            if watch is not None:
                self._watches.setdefault(watch, set()).add(path)
        self._unwatched = self._unwatched or (found[-1] is None and os.path.exists(path))

    def _concerns(self, watch: int, name: str) -> bool:
        """Whether an event is about one of our paths, not about another file in its directory."""
        return any(
            not name or os.path.basename(path) == name or os.path.isdir(path) for path in self._watches.get(watch, ())
        )


def _signature(path: str) -> "tuple[int, ...] | None":
    """Device, inode, size, and mtime and ctime in ns; None if the path does not exist."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
