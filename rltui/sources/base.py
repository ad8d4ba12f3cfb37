"""The interface to files: a place that lists, reads and follows them, on this machine or on a remote one.

Nothing here raises because of the disk: an error is a value, because it is normal that a path vanishes for a minute.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from typing import Literal, Protocol, cast

from msgspec import Struct, field

from rltui.agent.files import KINDS, number_of, open_regular
from rltui.records import cached
from rltui.text import clean

ErrorKind = Literal["missing", "permission", "not-a-file", "io", "dropped"]
"""dropped: bytes were left out, and reading continues."""


class SourceError(Struct, frozen=True):
    """What went wrong with one path, in words for the user (no traceback, no errno number alone)."""

    path: str
    kind: ErrorKind
    text: str


class FileStat(Struct, frozen=True):
    """Size in bytes, mtime in seconds since the epoch, and an identity that no other file of this name has."""

    path: str
    size: int
    mtime: float
    identity: str  # "device:inode" locally


class Listing(Struct, frozen=True, dict=True):
    """What a bounded search found. `skipped`: reason -> number of entries left out."""

    root: str
    files: tuple[FileStat, ...]
    dirs: tuple[str, ...]
    complete: bool
    skipped: dict[str, int] = field(
        default_factory=dict
    )  # "permission" | "loop" | "depth" | "entries" | "time" | "cache"
    error: SourceError | None = None

    @cached
    def by_path(self) -> Mapping[str, FileStat]:
        """The files by path, made once, because a listing may hold thousands of files and runs."""
        return {file.path: file for file in self.files}


class Delta(Struct, frozen=True):
    """New bytes of a followed file.

    `offset`: where `data` begins. `reset`: the file was truncated, replaced or rewritten since the last read, so the
    reader must be discarded; `data` starts at offset 0. `more`: there are more bytes to read now.
    """

    data: bytes
    offset: int
    reset: bool = False
    more: bool = False
    stat: FileStat | None = None
    error: SourceError | None = None


class Link(Struct, frozen=True):
    """The connection to a remote place: its state, and since when (seconds since the epoch).

    While it is reconnecting, `since` is when the remote machine last answered, so now minus `since` is the age of the
    data. `text`: the reason, in ssh's own words. `note`: what works less well there, or "".
    """

    state: Literal["connected", "reconnecting", "failed"]
    since: float
    text: str = ""
    note: str = ""


class Follower(Protocol):
    """One file that is read forwards, again and again."""

    path: str

    def read(self, max_bytes: int = 1 << 20) -> Delta:
        """The bytes after the last read, at most `max_bytes`; empty if nothing is new. Never raises for I/O."""

    def tail(self, max_bytes: int = 1 << 16) -> Delta:
        """The last bytes of the file, for current values before the history is read. The read position does not
        change."""

    def close(self) -> None: ...


class Place(Protocol):
    """A machine whose files can be listed and followed."""

    name: str  # "" for this machine, "user@host" for a remote one

    def stat(self, path: str) -> FileStat | SourceError: ...

    def is_dir(self, path: str) -> bool: ...

    def walk(self, root: str) -> Listing: ...

    def head(self, path: str, max_bytes: int = 1 << 14) -> bytes | SourceError:
        """The first bytes of a file, for sniffing its format."""

    def read(self, path: str, max_bytes: int = 1 << 24) -> bytes | SourceError:
        """A whole small file (config, trainer_state.json), at most `max_bytes`."""

    def follow(self, path: str) -> Follower: ...

    def wait(self, paths: list[str], timeout_s: float) -> bool:
        """Blocks until one of the paths may have changed or the time is over. True if something changed."""

    def link(self) -> Link | None:
        """The state of the connection; None for this machine."""


def error_of_number(path: str, number: int) -> SourceError:
    """The error value for an errno, of this machine or of a remote one."""
    kind, words = KINDS.get(number, ("io", f"cannot be read: {os.strerror(number).lower()}"))
    return SourceError(path, cast(ErrorKind, kind), f"{clean(path)} {words}")


def error_of_exception(path: str, error: OSError | ValueError) -> SourceError:
    """The error value for an exception that `open`, `stat` or `read` of `path` raised (ValueError: a NUL in the
    path)."""
    return error_of_number(path, number_of(error))


def not_a_file(path: str, mode: int) -> SourceError:
    """The error value for a path that exists but holds no bytes to read: a directory, pipe, socket or device."""
    return error_of_number(path, errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO)


def file_stat(path: str, found: os.stat_result) -> FileStat:
    return FileStat(path, found.st_size, found.st_mtime, f"{found.st_dev}:{found.st_ino}")


def open_file(path: str) -> tuple[int, os.stat_result] | SourceError:
    """A descriptor of a regular file, which the caller must close. Never blocks, not even on a named pipe."""
    try:
        return open_regular(path)
    except (OSError, ValueError) as error:
        return error_of_exception(path, error)
