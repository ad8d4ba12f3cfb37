"""The seam between bytes and the rest: a place that lists, stats and follows files.

Local now; a remote place (over ssh) has to offer the same three calls. Nothing here raises for what happens on a
disk: an error is a value, because a path that vanishes for a minute is a normal day.
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
"""dropped: bytes were left out, and reading goes on."""


class SourceError(Struct, frozen=True):
    """What went wrong with one path, in words for the user (no traceback, no errno number alone)."""

    path: str
    kind: ErrorKind
    text: str


class FileStat(Struct, frozen=True):
    """Size in bytes, mtime in seconds since the epoch, and what tells one file from another of the same name."""

    path: str
    size: int
    mtime: float
    identity: str  # "device:inode" locally


class Listing(Struct, frozen=True, dict=True):
    """What a bounded walk found. Counts say what the bounds and the errors left out."""

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
        """The files, made once: a listing may hold thousands of them and of runs."""
        return {file.path: file for file in self.files}


class Delta(Struct, frozen=True):
    """New bytes of a followed file.

    `offset` is where `data` begins. `reset` is set when the file was truncated, replaced or rewritten since the last
    read: the reader must be thrown away and `data` starts at offset 0. `more` says that another read returns at once.
    """

    data: bytes
    offset: int
    reset: bool = False
    more: bool = False
    stat: FileStat | None = None
    error: SourceError | None = None


class Link(Struct, frozen=True):
    """The connection to a remote place: how it stands and since when (seconds since the epoch).

    While it is reconnecting, `since` is when the far side was last heard, so that now minus `since` is how stale the
    data is. `text` is why, in ssh's own words. `note` says what works less well there ("" for nothing).
    """

    state: Literal["connected", "reconnecting", "failed"]
    since: float
    text: str = ""
    note: str = ""


class Follower(Protocol):
    """One file, read forwards, again and again."""

    path: str

    def read(self, max_bytes: int = 1 << 20) -> Delta:
        """The bytes after the last read, at most `max_bytes`; empty when nothing is new. Never raises for I/O."""

    def tail(self, max_bytes: int = 1 << 16) -> Delta:
        """The last bytes of the file without moving the read position: current values before the history is read."""

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
        """Blocks until one of the paths may have changed or the time is over; true when something changed."""

    def link(self) -> Link | None:
        """How the connection stands; None for this machine."""


def error_of_number(path: str, number: int) -> SourceError:
    """The error value for an errno, of this machine or of a remote one."""
    kind, words = KINDS.get(number, ("io", f"cannot be read: {os.strerror(number).lower()}"))
    return SourceError(path, cast(ErrorKind, kind), f"{clean(path)} {words}")


def error_of_exception(path: str, error: OSError | ValueError) -> SourceError:
    """The error value for what `open`, `stat` or `read` of `path` raised (ValueError: a NUL in the path)."""
    return error_of_number(path, number_of(error))


def not_a_file(path: str, mode: int) -> SourceError:
    """The error value for a path that exists but holds no bytes to read: a directory, pipe, socket or device."""
    return error_of_number(path, errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO)


def file_stat(path: str, found: os.stat_result) -> FileStat:
    return FileStat(path, found.st_size, found.st_mtime, f"{found.st_dev}:{found.st_ino}")


def open_file(path: str) -> tuple[int, os.stat_result] | SourceError:
    """A descriptor of a regular file, to be closed by the caller. Never blocks, not even on a named pipe."""
    try:
        return open_regular(path)
    except (OSError, ValueError) as error:
        return error_of_exception(path, error)
