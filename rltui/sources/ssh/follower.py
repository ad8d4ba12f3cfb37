"""One remote file: bytes that have arrived but are not read yet, and where to continue after a cut."""

from __future__ import annotations

import math
import time
from collections import deque
from threading import Condition
from typing import Any, Protocol

from msgspec import Struct

from rltui.agent.files import Piece, Position
from rltui.sources.base import Delta, FileStat, Link, SourceError, error_of_number

WINDOW = 4 << 20
"""At most this many bytes of a file are sent ahead of the reader. The agent has the same value."""
_READ_WAIT_S = 1.0
_PATIENCE_S = 60.0
"""If nothing arrives for this long, `more` becomes False. Bytes that arrive later come with later reads."""


class NotTheProtocol(ValueError):  # noqa: N818
    """What arrived is not in the protocol, or does not continue what was received before."""


class Owner(Protocol):
    """The place that a follower belongs to."""

    def link(self) -> Link: ...

    def begin(self, follower: RemoteFollower) -> None:
        """Asks the remote machine to send the file from now on."""

    def used(self, follower: RemoteFollower, count: int) -> None:
        """Reports that `count` more bytes were read, so the remote machine may send as many more."""

    def tail(self, path: str, max_bytes: int) -> Delta: ...

    def forget(self, follower: RemoteFollower) -> None: ...


class _Waiting(Struct):
    data: bytes
    reset: bool
    stat: FileStat


class RemoteFollower:
    """`Follower` of a remote file. One thread reads; the connection's thread calls `arrived` and `failed`."""

    def __init__(self, owner: Owner, path: str, number: int, news: Condition) -> None:
        self.path = path
        self.number = number
        self.position = Position()  # after all bytes that have arrived, read or not
        self._owner = owner
        self._news = news  # shared by the whole place; it guards everything below
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._error: SourceError | None = None
        self._error_told = True
        self._expecting = True  # the remote machine has more to send now
        self._progress = time.monotonic()
        self._read_to = 0  # offset
        self._stat: FileStat | None = None
        self._begun = self._closed = False

    # -- the connection's side -------------------------------------------------------------------------------------

    def arrived(self, values: Any, data: bytes) -> None:
        """Takes new bytes. Raises `NotTheProtocol` if they do not continue the known bytes or exceed the limit."""
        piece = checked(values, data)
        with self._news:
            if piece.offset != (0 if piece.reset else self.position.offset):
                raise NotTheProtocol("bytes from another place in the file")
            if self._waiting_bytes + len(data) > 3 * WINDOW:  # bytes from before a cut, and one window since
                raise NotTheProtocol("more bytes than asked for")
            self.position.follow(piece)
            stat = FileStat(self.path, piece.size, piece.mtime, piece.identity)
            self._waiting.append(_Waiting(data, piece.reset, stat))
            self._waiting_bytes += len(data)
            self._error, self._error_told = None, True
            self._expecting = piece.more
            self._progress = time.monotonic()
            self._news.notify_all()

    def failed(self, number: int) -> None:
        """Records that the remote machine cannot read the file, with this errno."""
        with self._news:
            self._error = error_of_number(self.path, number)
            self._error_told = False
            self.position.lost(self._error.kind)
            self._expecting = False
            self._news.notify_all()

    def has_news(self) -> bool:
        """Whether a read would return something. Call it while holding the condition."""
        return bool(self._waiting) or not self._error_told

    # -- the reader's side -----------------------------------------------------------------------------------------

    def read(self, max_bytes: int = 1 << 20) -> Delta:
        """See `Follower.read`. Waits up to a second if the remote machine has more to send now, as is assumed before
        the first bytes. While the connection is down, `error` gives the reason, and `more` is True if the end was not
        reached yet."""
        if not self._begun:
            self._begun = True
            self._owner.begin(self)
        with self._news:
            self._news.wait_for(lambda: self._waiting or not self._expecting or self._closed, _READ_WAIT_S)
            delta = self._take(max_bytes) if self._waiting else self._nothing()
        if delta.data:
            self._owner.used(self, len(delta.data))
        return delta

    def tail(self, max_bytes: int = 1 << 16) -> Delta:
        """See `Follower.tail`."""
        return self._owner.tail(self.path, max_bytes)

    def close(self) -> None:
        with self._news:
            self._closed = True
            self._news.notify_all()
        self._owner.forget(self)

    def _take(self, max_bytes: int) -> Delta:
        first = self._waiting[0]
        reset = first.reset
        if reset:
            first.reset = False
            self._read_to = 0
        parts: list[bytes] = []
        room = max_bytes
        while self._waiting and not self._waiting[0].reset:
            next_one = self._waiting[0]
            parts.append(next_one.data[:room])
            self._stat = next_one.stat
            if len(next_one.data) > room:
                next_one.data = next_one.data[room:]
                break
            room -= len(next_one.data)
            self._waiting.popleft()
        data = b"".join(parts)
        start, self._read_to = self._read_to, self._read_to + len(data)
        self._waiting_bytes -= len(data)
        more = bool(self._waiting) or self._still_expecting()
        return Delta(data, start, reset=reset, more=more, stat=self._stat)

    def _nothing(self) -> Delta:
        self._error_told = True
        error, link = self._error, self._owner.link()
        if error is None and link.state != "connected":
            error = SourceError(self.path, "io", f"{link.state}: {link.text}")
        return Delta(b"", self._read_to, more=self._still_expecting(), stat=self._stat, error=error)

    def _still_expecting(self) -> bool:
        return self._expecting and not self._closed and time.monotonic() - self._progress < _PATIENCE_S


def checked(values: Any, data: bytes) -> Piece:
    """A piece of a file as the remote machine describes it. Raises `NotTheProtocol` if the description is
    impossible."""
    match values:
        case [int(offset), bool(reset), bool(more), int(size), int() | float() as mtime, str(identity)] if (
            offset >= 0 and offset + len(data) <= size and math.isfinite(mtime) and len(identity) < 100
        ):
            return Piece(data, offset, reset, more, size, float(mtime), identity)
    raise NotTheProtocol("a piece of a file that cannot be")
