"""Linux's inotify through the C library: the kernel says when a file changes, so that nobody has to ask.

It knows nothing of changes made on another machine of a network file system; `waiter` asks slowly as well.

Also sent to remote machines: Python 3.6 and the standard library only.
"""

import ctypes
import math
import os
import select
import struct
import sys

_MODIFY, _ATTRIB = 0x2, 0x4
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x4000, 0x8000
_ONLY_DIRECTORY = 0x01000000
_OF_FILE = _MODIFY | _ATTRIB | _DELETE_SELF | _MOVE_SELF
_OF_DIRECTORY = _CREATE | _DELETE | _MOVED_FROM | _MOVED_TO | _DELETE_SELF | _MOVE_SELF | _ONLY_DIRECTORY
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name


class Inotify:
    """Watches files (bytes, attributes) and directories (names that come and go). OSError where there is none."""

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
        """The number of the watch, None where it cannot be set (no such file, too many watches)."""
        return self._watch(path, _OF_FILE)

    def watch_directory(self, path: str) -> "int | None":
        """As `watch_file`, for the names in a directory; changes inside its files do not wake."""
        return self._watch(path, _OF_DIRECTORY)

    def unwatch(self, watch: int) -> None:
        self._libc.inotify_rm_watch(self._descriptor, watch)

    def events(self, timeout_s: float) -> "list[tuple[int, str]] | None":
        """(watch, name in its directory or "") of what changed within the time; None where events were lost."""
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
