"""One local file, read forwards again and again, whatever its writer does to it.

No descriptor is held between reads: each read opens the path anew, so a file replaced by rename is seen at once, a
deleted one does not keep its disk space, and a network file system hands out fresh data. When nothing moved, a read is
one `stat`.

A rewrite is recognised by: another identity (replaced), a size below the read position (truncated), a return after
having been absent, or different bytes where we have read before (rewritten in place). For the last one a fingerprint
of the first and the last bytes read is compared whenever the times changed; a file of the same size with a newer time
is compared as a whole by its checksum if it is small (a JSON document saved anew with one digit changed).
"""

from __future__ import annotations

import os
import time
import zlib

from rltui.sources import errors
from rltui.sources.base import Delta, FileStat, SourceError

_FINGERPRINT_BYTES = 64
_WHOLE_CHECK_BYTES = 4 << 20
_CLOCK_GRAIN_S = 2.0
"""A file changed this recently may change again within the same time stamp: it is checked once more when older."""

_Signature = tuple[int, int, int, int, int]  # device, inode, size, mtime and ctime in ns


class LocalFollower:
    """`Follower` of a file of this machine. Used by one thread at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._offset = 0
        self._head = b""  # first bytes read
        self._tail = b""  # last bytes read
        self._checksum = 0  # CRC-32 of all bytes read
        self._seen: _Signature | None = None  # at the last read; None after an error
        self._seen_size = 0
        self._settled = False  # that read was more than the clock's grain after the last change
        self._identity: tuple[int, int] | None = None
        self._was_absent = False

    def read(self, max_bytes: int = 1 << 20) -> Delta:
        """See `Follower.read`. After an absence, the first read is a reset even if the same file came back."""
        try:
            found = os.stat(self.path)
        except (OSError, ValueError) as error:
            return self._failed(errors.from_exception(self.path, error))
        unchanged = self._seen == _signature(found) and self._offset >= found.st_size
        if unchanged and (self._settled or not _is_settled(found)):
            return Delta(b"", self._offset, stat=errors.file_stat(self.path, found))
        opened = errors.open_file(self.path)
        if isinstance(opened, SourceError):
            return self._failed(opened)
        descriptor, found = opened
        try:
            return self._read_open(descriptor, found, max_bytes)
        except OSError as error:
            return self._failed(errors.from_exception(self.path, error))
        finally:
            os.close(descriptor)

    def tail(self, max_bytes: int = 1 << 16) -> Delta:
        """See `Follower.tail`."""
        opened = errors.open_file(self.path)
        if isinstance(opened, SourceError):
            return Delta(b"", self._offset, error=opened)
        descriptor, found = opened
        start = max(0, found.st_size - max_bytes)
        try:
            data = os.pread(descriptor, max_bytes, start)
        except OSError as error:
            return Delta(b"", self._offset, error=errors.from_exception(self.path, error))
        finally:
            os.close(descriptor)
        return Delta(data, start, stat=errors.file_stat(self.path, found))

    def close(self) -> None:
        """Nothing is held between reads."""

    def _read_open(self, descriptor: int, found: os.stat_result, max_bytes: int) -> Delta:
        reset = self._offset > 0 and self._is_another(descriptor, found)
        if reset:
            self._forget()
        data = os.pread(descriptor, max_bytes, self._offset)
        start = self._offset
        self._take(data)
        self._was_absent = False
        self._identity = (found.st_dev, found.st_ino)
        self._seen_size = found.st_size
        self._seen = _signature(found)
        self._settled = _is_settled(found)
        stat = FileStat(self.path, max(found.st_size, self._offset), found.st_mtime, f"{found.st_dev}:{found.st_ino}")
        return Delta(data, start, reset=reset, more=bool(data) and self._offset < found.st_size, stat=stat)

    def _is_another(self, descriptor: int, found: os.stat_result) -> bool:
        """Whether what we have read is no longer the beginning of this file."""
        if self._was_absent or self._identity != (found.st_dev, found.st_ino) or found.st_size < self._offset:
            return True
        if os.pread(descriptor, len(self._head), 0) != self._head:
            return True
        if os.pread(descriptor, len(self._tail), self._offset - len(self._tail)) != self._tail:
            return True
        if found.st_size == self._seen_size == self._offset <= _WHOLE_CHECK_BYTES:
            return zlib.crc32(os.pread(descriptor, self._offset, 0)) != self._checksum
        return False

    def _take(self, data: bytes) -> None:
        if len(self._head) < _FINGERPRINT_BYTES:
            self._head = (self._head + data)[:_FINGERPRINT_BYTES]
        self._tail = (self._tail + data[-_FINGERPRINT_BYTES:])[-_FINGERPRINT_BYTES:]
        self._checksum = zlib.crc32(data, self._checksum)
        self._offset += len(data)

    def _forget(self) -> None:
        self._offset, self._checksum = 0, 0
        self._head = self._tail = b""

    def _failed(self, error: SourceError) -> Delta:
        self._was_absent = self._was_absent or error.kind in ("missing", "not-a-file")
        self._seen = None
        return Delta(b"", self._offset, error=error)


def _signature(found: os.stat_result) -> _Signature:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _is_settled(found: os.stat_result) -> bool:
    return abs(time.time() - found.st_mtime) > _CLOCK_GRAIN_S
