"""This machine as a place: lists, reads and follows its files, and waits for changes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from threading import get_ident
from typing import TYPE_CHECKING

from rltui.agent.files import ForwardReader, read_tail
from rltui.agent.tree import MAX_DEPTH, MAX_ENTRIES, MAX_SECONDS, walk_tree
from rltui.sources.base import (
    Delta,
    FileStat,
    Listing,
    SourceError,
    error_of_exception,
    file_stat,
    not_a_file,
    open_file,
)

if TYPE_CHECKING:
    from rltui.agent.waiter import Waiter


class LocalFollower:
    """`Follower` for a file on this machine. Only one thread may use it at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._reader = ForwardReader(path)

    def read(self, max_bytes: int = 1 << 20) -> Delta:
        """See `Follower.read`. After the file was absent, a read is a reset only if other bytes came back."""
        try:
            piece = self._reader.read(max_bytes)
        except (OSError, ValueError) as error:
            return Delta(b"", self._reader.position.offset, error=error_of_exception(self.path, error))
        stat = FileStat(self.path, piece.size, piece.mtime, piece.identity)
        return Delta(piece.data, piece.offset, reset=piece.reset, more=piece.more, stat=stat)

    def tail(self, max_bytes: int = 1 << 16) -> Delta:
        """See `Follower.tail`."""
        try:
            data, start, found = read_tail(self.path, max_bytes)
        except (OSError, ValueError) as error:
            return Delta(b"", self._reader.position.offset, error=error_of_exception(self.path, error))
        return Delta(data, start, stat=file_stat(self.path, found))

    def close(self) -> None:
        """Nothing is held between reads."""


def walk(
    root: str,
    *,
    max_depth: int = MAX_DEPTH,
    max_entries: int = MAX_ENTRIES,
    max_seconds: float = MAX_SECONDS,
    found: Callable[[int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Listing:
    """See `walk_tree`. If the root itself cannot be examined, `Listing.error` gives the reason."""
    try:
        tree = walk_tree(root, max_depth, max_entries, max_seconds, found, cancelled)
    except (OSError, ValueError) as error:
        return Listing(root, (), (), complete=False, error=error_of_exception(root, error))
    return listing(root, tree.files, tree.dirs, tree.complete, tree.skipped)


def listing(
    root: str,
    files: Iterable[tuple[str, int, float, str]],
    dirs: Iterable[str],
    complete: bool,
    skipped: Mapping[str, int],
) -> Listing:
    """The listing for what `walk_tree` found, here or on a remote machine."""
    left_out = {reason: count for reason, count in skipped.items() if count}
    return Listing(root, tuple(FileStat(*file) for file in files), tuple(dirs), complete, left_out)


class LocalPlace:
    """`Place` for this machine, for any thread: runs that are watched together share it."""

    name = ""

    def __init__(self) -> None:
        self._waiters: dict[int, Waiter] = {}  # by thread, as a waiter serves only one

    def stat(self, path: str) -> FileStat | SourceError:
        """Only for files: a directory, pipe or device gives an error of kind "not-a-file"."""
        try:
            found = os.stat(path)
        except (OSError, ValueError) as error:
            return error_of_exception(path, error)
        return file_stat(path, found) if stat.S_ISREG(found.st_mode) else not_a_file(path, found.st_mode)

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def walk(
        self,
        root: str,
        *,
        found: Callable[[int], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Listing:
        """See `walk`. This uses the usual bounds."""
        return walk(root, found=found, cancelled=cancelled)

    def head(self, path: str, max_bytes: int = 1 << 14) -> bytes | SourceError:
        return self.read(path, max_bytes)

    def read(self, path: str, max_bytes: int = 1 << 24) -> bytes | SourceError:
        opened = open_file(path)
        if isinstance(opened, SourceError):
            return opened
        descriptor, _ = opened
        try:
            with os.fdopen(descriptor, "rb") as file:
                return file.read(max_bytes)
        except OSError as error:
            return error_of_exception(path, error)

    def follow(self, path: str) -> LocalFollower:
        return LocalFollower(path)

    def wait(self, paths: list[str], timeout_s: float) -> bool:
        """See `Place.wait`; a path that was not in the last wait counts as changed."""
        waiter = self._waiters.get(get_ident())
        if waiter is None:
            from rltui.agent.waiter import Waiter  # it loads ctypes, which the first values do not need

            waiter = self._waiters[get_ident()] = Waiter()
        return waiter.wait(paths, timeout_s)

    def link(self) -> None:
        """See `Place.link`."""

    def close(self) -> None:
        """Frees the resources that `wait` holds."""
        while self._waiters:
            self._waiters.popitem()[1].close()
