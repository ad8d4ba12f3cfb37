"""Standard input as a place with one growing file: `train.py | rltui -`."""

from __future__ import annotations

import os
import time
from collections import deque
from functools import cache
from threading import Condition, Thread

from rltui.sources.base import Delta, FileStat, Listing, SourceError

PATH = "-"
MAX_WAITING = 64 << 20
"""The most bytes that wait to be read. A trainer must never wait for its monitor, so a live pipe drops the oldest
bytes.
"""
_PIECE = 1 << 16
_GRACE_S = 0.5
"""After the first line of a live pipe, the reader waits this long for more lines: they help to recognise the format."""


@cache
def standard_input(live: bool) -> StdinPlace:
    """The pipe on descriptor 0. It is read through a copy, so that descriptor 0 may become the terminal. It is made
    once for each value of `live`."""
    return StdinPlace(os.dup(0), live)


class StdinPlace:
    """`Place` for what comes through a pipe. A thread reads the pipe continuously.

    `live`: a read returns what is there. Otherwise a read waits for more until the pipe ends, and nothing is dropped.
    """

    name = ""

    def __init__(self, descriptor: int, live: bool, max_waiting: int = MAX_WAITING) -> None:
        self.live = live
        self._max_waiting = max_waiting
        self._changed = Condition()
        self._pieces: deque[bytes] = deque()
        self._waiting = 0  # bytes in `_pieces`
        self._taken = 0  # bytes read or dropped
        self._dropped = 0
        self._torn = False  # bytes were dropped in the middle of a line
        self._head = b""
        self._ended = False
        self._told_end = False
        self._newest = time.time()
        Thread(target=self._empty, args=(descriptor,), name="stdin", daemon=True).start()

    def _empty(self, descriptor: int) -> None:
        while True:
            try:
                piece = os.read(descriptor, _PIECE)
            except OSError:
                piece = b""
            with self._changed:
                if not piece:
                    self._ended = True
                    self._changed.notify_all()
                    break
                if not self.live:
                    self._changed.wait_for(lambda: self._waiting < self._max_waiting)
                self._pieces.append(piece)
                self._waiting += len(piece)
                self._newest = time.time()
                if self.live and self._waiting > self._max_waiting:
                    self._drop()
                self._mend()
                self._changed.notify_all()
        os.close(descriptor)

    def _drop(self) -> None:
        """Drops the older half of the waiting bytes."""
        while self._waiting > self._max_waiting // 2 and len(self._pieces) > 1:
            self._lose(len(self._pieces.popleft()))
        self._torn = True

    def _mend(self) -> None:
        """After bytes were dropped, also drops the rest of the line that was cut off."""
        while self._torn and self._pieces:
            piece = self._pieces.popleft()
            end = piece.find(b"\n")
            self._lose(len(piece) if end < 0 else end)
            if end >= 0:
                self._pieces.appendleft(piece[end:])
                self._torn = False

    def _lose(self, count: int) -> None:
        self._waiting -= count
        self._taken += count
        self._dropped += count

    # -- Place -----------------------------------------------------------------------------------------------------

    def stat(self, path: str) -> FileStat | SourceError:
        with self._changed:
            return self._stat()

    def _stat(self) -> FileStat:
        return FileStat(PATH, self._taken + self._waiting, self._newest, "stdin")

    def is_dir(self, path: str) -> bool:
        return False

    def walk(self, root: str) -> Listing:
        with self._changed:
            return Listing(os.curdir, (self._stat(),), (), True)

    def head(self, path: str, max_bytes: int = 1 << 14) -> bytes | SourceError:
        """Waits for `max_bytes` or the end; on a live pipe, for a line and what follows it at once. Later calls return
        what the first one saw, because the pipe may have been read by then."""
        with self._changed:
            if self._head:
                return self._head[:max_bytes]
            if self.live:
                self._changed.wait_for(lambda: self._ended or any(b"\n" in piece for piece in self._pieces))
                self._changed.wait_for(lambda: self._ended or self._waiting >= max_bytes, _GRACE_S)
            else:
                self._changed.wait_for(lambda: self._ended or self._waiting >= max_bytes)
            self._head = b"".join(self._pieces)[:max_bytes]
            return self._head

    def read(self, path: str, max_bytes: int = 1 << 24) -> bytes | SourceError:
        return self.head(path, max_bytes)

    def follow(self, path: str) -> StdinFollower:
        return StdinFollower(self)

    def wait(self, paths: list[str], timeout_s: float) -> bool:
        """Waits until there are bytes to read, or the pipe has just ended."""
        with self._changed:
            news = self._changed.wait_for(lambda: self._waiting > 0 or self._ended > self._told_end, timeout_s)
            self._told_end = self._ended
            return news

    def link(self) -> None:
        """See `Place.link`."""

    def take(self, max_bytes: int) -> Delta:
        """The next bytes. Each byte is returned only once."""
        with self._changed:
            if not self.live:
                self._changed.wait_for(lambda: self._waiting > 0 or self._ended)
            begin = self._taken
            out = bytearray()
            while self._pieces and len(out) < max_bytes:
                piece = self._pieces.popleft()
                room = max_bytes - len(out)
                out += piece[:room]
                if len(piece) > room:
                    self._pieces.appendleft(piece[room:])
            self._waiting -= len(out)
            self._taken += len(out)
            self._changed.notify_all()
            more = self._waiting > 0 if self.live or self._ended else True
            error = None
            if self._dropped:
                text = f"{self._dropped / 1e6:.1f} MB came faster than they could be read and were left out"
                error = SourceError(PATH, "dropped", text)
            return Delta(bytes(out), begin, more=more, stat=self._stat(), error=error)

    def waiting(self, max_bytes: int) -> Delta:
        """The newest bytes that are not read yet. They remain to be read."""
        with self._changed:
            data = b"".join(self._pieces)[-max_bytes:]
            return Delta(data, self._taken + self._waiting - len(data), stat=self._stat())


class StdinFollower:
    """`Follower` for the pipe. Use only one, because bytes that were read are gone."""

    path = PATH

    def __init__(self, place: StdinPlace) -> None:
        self._place = place

    def read(self, max_bytes: int = 1 << 20) -> Delta:
        return self._place.take(max_bytes)

    def tail(self, max_bytes: int = 1 << 16) -> Delta:
        return self._place.waiting(max_bytes)

    def close(self) -> None:
        """The pipe stays open: closing it would end the trainer."""
