"""What the operating system says about a path, as a value in words."""

from __future__ import annotations

import errno
import os
import stat

from rltui.sources.base import ErrorKind, FileStat, SourceError
from rltui.text import clean

_KINDS: dict[int, tuple[ErrorKind, str]] = {
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


def from_exception(path: str, error: OSError | ValueError) -> SourceError:
    """The error value for what `open`, `stat` or `read` of `path` raised (ValueError: a NUL in the path)."""
    number = error.errno if isinstance(error, OSError) else errno.ENOENT
    kind, words = _KINDS.get(number or 0, ("io", f"cannot be read: {os.strerror(number or errno.EIO).lower()}"))
    return SourceError(path, kind, f"{clean(path)} {words}")


def not_a_file(path: str, mode: int) -> SourceError:
    """The error value for a path that exists but holds no bytes to read: a directory, pipe, socket or device."""
    words = "is a directory, not a file" if stat.S_ISDIR(mode) else "is not a regular file"
    return SourceError(path, "not-a-file", f"{clean(path)} {words}")


def file_stat(path: str, found: os.stat_result) -> FileStat:
    return FileStat(path, found.st_size, found.st_mtime, f"{found.st_dev}:{found.st_ino}")


def open_file(path: str) -> tuple[int, os.stat_result] | SourceError:
    """A descriptor of a regular file, to be closed by the caller. Never blocks, not even on a named pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        return from_exception(path, error)
    try:
        found = os.fstat(descriptor)
    except OSError as error:
        os.close(descriptor)
        return from_exception(path, error)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        return not_a_file(path, found.st_mode)
    return descriptor, found
