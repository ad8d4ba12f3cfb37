"""This machine as a place: files listed, read, followed and waited for."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING

from rltui.sources import errors
from rltui.sources.base import FileStat, Listing, SourceError
from rltui.sources.follower import LocalFollower
from rltui.sources.walk import walk

if TYPE_CHECKING:
    from rltui.sources.waiter import Waiter

__all__ = ["LocalFollower", "LocalPlace"]


class LocalPlace:
    """`Place` of this machine, for any thread: runs that are watched side by side share it."""

    name = ""

    def __init__(self) -> None:
        self._waiters: dict[int, Waiter] = {}  # by thread: a waiter belongs to one

    def stat(self, path: str) -> FileStat | SourceError:
        """Of files only: a directory, pipe or device is an error of kind "not-a-file"."""
        try:
            found = os.stat(path)
        except (OSError, ValueError) as error:
            return errors.from_exception(path, error)
        return errors.file_stat(path, found) if stat.S_ISREG(found.st_mode) else errors.not_a_file(path, found.st_mode)

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def walk(
        self,
        root: str,
        *,
        found: Callable[[int], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Listing:
        """See `rltui.sources.walk.walk`, which also names the bounds."""
        return walk(root, found=found, cancelled=cancelled)

    def head(self, path: str, max_bytes: int = 1 << 14) -> bytes | SourceError:
        return self.read(path, max_bytes)

    def read(self, path: str, max_bytes: int = 1 << 24) -> bytes | SourceError:
        opened = errors.open_file(path)
        if isinstance(opened, SourceError):
            return opened
        descriptor, _ = opened
        try:
            with os.fdopen(descriptor, "rb") as file:
                return file.read(max_bytes)
        except OSError as error:
            return errors.from_exception(path, error)

    def follow(self, path: str) -> LocalFollower:
        return LocalFollower(path)

    def wait(self, paths: list[str], timeout_s: float) -> bool:
        """See `Place.wait`; a path that was not in the last wait counts as changed."""
        waiter = self._waiters.get(get_ident())
        if waiter is None:
            from rltui.sources.waiter import Waiter  # ctypes: nothing is waited for before the first values

            waiter = self._waiters[get_ident()] = Waiter()
        return waiter.wait(paths, timeout_s)

    def link(self) -> None:
        """See `Place.link`."""

    def close(self) -> None:
        """Gives back what `wait` holds."""
        while self._waiters:
            self._waiters.popitem()[1].close()
