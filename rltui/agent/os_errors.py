"""What the operating system says about a path: its kind and its words.

Also sent to remote machines: Python 3.6 and the standard library only.
"""

import errno
import os
import stat

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


def number_of(error: "OSError | ValueError") -> int:
    """The errno of what `open`, `stat` or `read` raised (ValueError: a NUL in the path)."""
    found = error.errno if isinstance(error, OSError) else errno.ENOENT
    return found or errno.EIO


def kind_of(error: "OSError | ValueError") -> str:
    """ "missing" | "permission" | "not-a-file" | "io"."""
    return KINDS.get(number_of(error), ("io", ""))[0]


def check_regular(path: str, mode: int) -> None:
    """OSError for what exists but holds no bytes to read: a directory, pipe, socket or device."""
    if not stat.S_ISREG(mode):
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO, "not a file", path)


def open_regular(path: str) -> "tuple[int, os.stat_result]":
    """A descriptor of a regular file, to be closed by the caller. Never blocks, not even on a named pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        check_regular(path, found.st_mode)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, found
