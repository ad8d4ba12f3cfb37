"""One local file, read forwards again and again, whatever its writer does to it (how: `position.ForwardReader`)."""

from __future__ import annotations

from rltui.sources import errors
from rltui.sources.base import Delta, FileStat
from rltui.sources.position import ForwardReader, read_tail


class LocalFollower:
    """`Follower` of a file of this machine. Used by one thread at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._reader = ForwardReader(path)

    def read(self, max_bytes: int = 1 << 20) -> Delta:
        """See `Follower.read`. After an absence, the first read is a reset even if the same file came back."""
        try:
            piece = self._reader.read(max_bytes)
        except (OSError, ValueError) as error:
            return Delta(b"", self._reader.position.offset, error=errors.from_exception(self.path, error))
        stat = FileStat(self.path, piece.size, piece.mtime, piece.identity)
        return Delta(piece.data, piece.offset, reset=piece.reset, more=piece.more, stat=stat)

    def tail(self, max_bytes: int = 1 << 16) -> Delta:
        """See `Follower.tail`."""
        try:
            data, start, found = read_tail(self.path, max_bytes)
        except (OSError, ValueError) as error:
            return Delta(b"", self._reader.position.offset, error=errors.from_exception(self.path, error))
        return Delta(data, start, stat=errors.file_stat(self.path, found))

    def close(self) -> None:
        """Nothing is held between reads."""
