"""What the operating system says about a path, as a value in words."""

from __future__ import annotations

import errno
import os
import stat
from typing import cast

from rltui.agent import os_errors
from rltui.sources.base import ErrorKind, FileStat, SourceError
from rltui.text import clean


def from_number(path: str, number: int) -> SourceError:
    """The error value for an errno, of this machine or of a remote one."""
    kind, words = os_errors.KINDS.get(number, ("io", f"cannot be read: {os.strerror(number).lower()}"))
    return SourceError(path, cast(ErrorKind, kind), f"{clean(path)} {words}")


def from_exception(path: str, error: OSError | ValueError) -> SourceError:
    """The error value for what `open`, `stat` or `read` of `path` raised (ValueError: a NUL in the path)."""
    return from_number(path, os_errors.number_of(error))


def not_a_file(path: str, mode: int) -> SourceError:
    """The error value for a path that exists but holds no bytes to read: a directory, pipe, socket or device."""
    return from_number(path, errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO)


def file_stat(path: str, found: os.stat_result) -> FileStat:
    return FileStat(path, found.st_size, found.st_mtime, f"{found.st_dev}:{found.st_ino}")


def open_file(path: str) -> tuple[int, os.stat_result] | SourceError:
    """A descriptor of a regular file, to be closed by the caller. Never blocks, not even on a named pipe."""
    try:
        return os_errors.open_regular(path)
    except (OSError, ValueError) as error:
        return from_exception(path, error)
