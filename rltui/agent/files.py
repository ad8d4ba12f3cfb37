"""Files of the operating system: why a path cannot be read, how far a growing file has been read, and whether it is
still the same file.

A file was rewritten if it is shorter than what was read (truncated), or if bytes that were read have changed. The first
and the last bytes read are compared whenever the file's times change. A checksum of what was read is compared if the
file has another identity (replaced) or was absent for a while: rsync and a remounted disk bring back the same bytes,
which is not a new attempt of the run. It is also compared for a small file of the same size with a newer time (a JSON
document saved again with one digit changed).

Also sent to remote machines: Python 3.6 and the standard library only.
"""

import errno
import os
import stat
import time
import zlib
from typing import Any

KINDS = {
    errno.ENOENT: ("missing", "does not exist"),
    errno.ENOTDIR: ("missing", "does not exist (a part of the path is not a directory)"),
    errno.EACCES: ("permission", "cannot be read: permission denied"),
    errno.EPERM: ("permission", "cannot be read: permission denied"),
    errno.EISDIR: ("not-a-file", "is a directory, not a file"),
    errno.ENXIO: ("not-a-file", "is not a regular file"),
    errno.ELOOP: ("not-a-file", "is a symbolic link that leads in a circle"),
    errno.ENAMETOOLONG: ("missing", "does not exist (the name is too long)"),
    errno.ESTALE: ("io", "cannot be read at the moment: the network file system has lost it (stale handle)"),
}
FINGERPRINT_BYTES = 64
WHOLE_CHECK_BYTES = 4 << 20
CHECKED_BYTES, CHECKED_EVERY = 1 << 10, 1 << 14
"""Beyond `WHOLE_CHECK_BYTES` the checksum covers only the first bytes of each stretch. A checksum of all bytes took a
tenth of the reading time, and another file differs in far more than a few bytes."""
PIECE_BYTES = 1 << 20
CLOCK_GRAIN_S = 2.0
"""A file that changed this recently may change again under the same time stamp, so it is checked once more later."""


def number_of(error: "OSError | ValueError") -> int:
    """The errno of the exception that `open`, `stat` or `read` raised (ValueError: a NUL in the path)."""
    found = error.errno if isinstance(error, OSError) else errno.ENOENT
    return found or errno.EIO


def kind_of(error: "OSError | ValueError") -> str:
    """ "missing" | "permission" | "not-a-file" | "io"."""
    return KINDS.get(number_of(error), ("io", ""))[0]


def check_regular(path: str, mode: int) -> None:
    """Raises OSError for a path that exists but holds no bytes to read: a directory, pipe, socket or device."""
    if not stat.S_ISREG(mode):
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO, "not a file", path)


def open_regular(path: str) -> "tuple[int, os.stat_result]":
    """A descriptor of a regular file, which the caller must close. Never blocks, not even on a named pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        check_regular(path, found.st_mode)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, found


class Piece:
    """New bytes of a file, from `offset` on. `reset`: the file was rewritten, so earlier bytes no longer count. `more`:
    there are more bytes to read now. `size`, `mtime` and `identity` are those of the file."""

    def __init__(
        self, data: bytes, offset: int, reset: bool, more: bool, size: int, mtime: float, identity: str
    ) -> None:
        self.data = data
        self.offset = offset
        self.reset = reset
        self.more = more
        self.size = size
        self.mtime = mtime
        self.identity = identity


class Position:
    """How far a file has been read. Another process can continue from there (`write_down`, `taken_up`)."""

    def __init__(self) -> None:
        self.offset = 0
        self.head = b""  # first bytes read
        self.tail = b""  # last bytes read
        self.checksum = 0  # of the bytes read, computed by `checked`
        self.identity = ""  # "device:inode"
        self.seen_size = 0  # size of the file at the last read
        self.was_absent = False

    def take(self, data: bytes) -> None:
        if len(self.head) < FINGERPRINT_BYTES:
            self.head = (self.head + data)[:FINGERPRINT_BYTES]
        self.tail = (self.tail + data[-FINGERPRINT_BYTES:])[-FINGERPRINT_BYTES:]
        self.checksum = checked(data, self.offset, self.checksum)
        self.offset += len(data)

    def forget(self) -> None:
        self.offset = self.checksum = 0
        self.head = self.tail = b""

    def follow(self, piece: Piece) -> None:
        """Moves past `piece`, which this or another process has read."""
        if piece.reset:
            self.forget()
        self.take(piece.data)
        self.was_absent = False
        self.identity = piece.identity
        self.seen_size = piece.size

    def lost(self, kind: str) -> None:
        """Records that a read failed. After an absence, the next read compares all that was read with what came
        back."""
        self.was_absent = self.was_absent or kind in ("missing", "not-a-file")

    def write_down(self) -> "list[Any]":
        return [
            *(self.offset, self.head.hex(), self.tail.hex(), self.checksum),
            *(self.identity, self.seen_size, self.was_absent),
        ]

    @classmethod
    def taken_up(cls, written: "list[Any]") -> "Position":
        at = cls()
        at.offset, head, tail, at.checksum, at.identity, at.seen_size, at.was_absent = written
        at.head, at.tail = bytes.fromhex(head), bytes.fromhex(tail)
        return at


class ForwardReader:
    """One file of this machine, read forwards, whatever its writer does to it.

    No descriptor is held between reads: each read opens the path again. So a file replaced by rename is seen at once, a
    deleted file does not keep its disk space, and a network file system returns fresh data. If nothing changed, a read
    is a single `stat`.
    """

    def __init__(self, path: str, position: "Position | None" = None) -> None:
        self.path = path
        self.position = position or Position()
        self._seen = None  # type: tuple[int, ...] | None  # signature at the last read; None after an error
        self._settled = False  # the last read was more than the clock's grain after the last change

    def read(self, max_bytes: int) -> Piece:
        """The next bytes. Raises OSError or ValueError if the path cannot be read; the position is kept."""
        try:
            found = os.stat(self.path)
            unchanged = self._seen == _signature(found) and self.position.offset >= found.st_size
            if unchanged and (self._settled or not _is_settled(found)):
                return Piece(b"", self.position.offset, False, False, found.st_size, found.st_mtime, _identity(found))
            descriptor, found = open_regular(self.path)
            try:
                return self._read_open(descriptor, found, max_bytes)
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:
            self.position.lost(kind_of(error))
            self._seen = None
            raise

    def _read_open(self, descriptor: int, found: os.stat_result, max_bytes: int) -> Piece:
        at = self.position
        reset = at.offset > 0 and self._is_another(descriptor, found)
        start = 0 if reset else at.offset
        data = os.pread(descriptor, max_bytes, start)
        end = start + len(data)
        piece = Piece(
            *(data, start, reset, bool(data) and end < found.st_size),
            *(max(found.st_size, end), found.st_mtime, _identity(found)),
        )
        at.follow(piece)
        self._seen = _signature(found)
        self._settled = _is_settled(found)
        return piece

    def _is_another(self, descriptor: int, found: os.stat_result) -> bool:
        """Whether the file no longer begins with what was read."""
        at = self.position
        if found.st_size < at.offset:
            return True
        if os.pread(descriptor, len(at.head), 0) != at.head:
            return True
        if os.pread(descriptor, len(at.tail), at.offset - len(at.tail)) != at.tail:
            return True
        came_back = at.was_absent or at.identity != _identity(found)
        if came_back or found.st_size == at.seen_size == at.offset <= WHOLE_CHECK_BYTES:
            return _checksum(descriptor, at.offset) != at.checksum
        return False


def checked(data: bytes, at: int, checksum: int) -> int:
    """The CRC-32 of a file's bytes up to `at` (`checksum`), continued with the `data` that follow: of all bytes at
    first, then of some bytes in each stretch."""
    whole, end = max(0, WHOLE_CHECK_BYTES - at), at + len(data)
    view = memoryview(data)
    checksum = zlib.crc32(view[:whole], checksum)
    begin = at + whole
    for place in range(begin - begin % CHECKED_EVERY, end, CHECKED_EVERY):
        checksum = zlib.crc32(view[max(place, begin) - at : max(0, place + CHECKED_BYTES - at)], checksum)
    return checksum


def _checksum(descriptor: int, size: int) -> int:
    """The checksum of the first bytes of a file."""
    checksum = at = 0
    while at < size:
        data = os.pread(descriptor, min(PIECE_BYTES, size - at), at)
        if not data:
            break
        checksum = checked(data, at, checksum)
        at += len(data)
    return checksum


def read_tail(path: str, max_bytes: int) -> "tuple[bytes, int, os.stat_result]":
    """The last bytes of a file, where they begin, and its status. Raises OSError or ValueError if it cannot be read."""
    descriptor, found = open_regular(path)
    start = max(0, found.st_size - max_bytes)
    try:
        return os.pread(descriptor, max_bytes, start), start, found
    finally:
        os.close(descriptor)


def _signature(found: os.stat_result) -> "tuple[int, ...]":
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _identity(found: os.stat_result) -> str:
    return f"{found.st_dev}:{found.st_ino}"


def _is_settled(found: os.stat_result) -> bool:
    return abs(time.time() - found.st_mtime) > CLOCK_GRAIN_S
