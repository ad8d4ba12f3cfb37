"""Sleeping until a file may have changed: woken by inotify where it works, and by asking, slowly, everywhere.

An idle wait wakes once a second (a `stat` of each path, for network file systems, where inotify is silent), or four
times a second where there is no inotify. A file written all the time wakes at most 25 times a second.

Also sent to remote machines: Python 3.6 and the standard library only.
"""

import os
import time

from rltui.agent.inotify import Inotify

_SLOW_POLL_S = 1.0
_POLL_S = 0.25
_MIN_GAP_S = 0.04
"""A log line is worth showing at once, a thousand a second are worth showing together."""


class Waiter:
    """Remembers between waits what it saw of each path, so that a change between two waits is not missed.

    Used by one thread at a time.
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
        """True as soon as one of the paths may have changed, was replaced, appeared or went; a path that was not in
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
        """Sleeps until the next look at the latest; true when inotify says that a path of ours moved."""
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
            if events:  # neighbours in the same directory: do not run after each of them
                time.sleep(min(_MIN_GAP_S, max(0.0, wanted - time.monotonic())))

    def _pace(self, deadline: float) -> None:
        """Holds a wake-up back that follows the last one too closely."""
        gap = self._last_wake + _MIN_GAP_S - time.monotonic()
        if gap > 0:
            time.sleep(max(0.0, min(gap, deadline - time.monotonic())))
        if self._inotify is not None:
            self._inotify.events(0)
        self._last_wake = time.monotonic()

    def _changed(self) -> bool:
        """Looks at every path and remembers what it saw."""
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
        """Other paths than last time: forgets those that are gone, watches the new ones at the first look."""
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
        """Watches the file for its bytes and its directory for its name (created, replaced, deleted)."""
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
        """Whether an event is about one of our paths and not about a neighbour of it."""
        return any(
            not name or os.path.basename(path) == name or os.path.isdir(path) for path in self._watches.get(watch, ())
        )


def _signature(path: str) -> "tuple[int, ...] | None":
    """Device, inode, size, mtime and ctime in ns; None: not there."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
