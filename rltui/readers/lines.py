"""Cuts bytes, as they arrive, into complete lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

MAX_LINE = 1 << 20
"""The longest line that is read: trainers do not write longer ones, and a file without newlines must not fill the
memory."""
MANY_BYTES = 1 << 17
"""From this many bytes on, importing polars pays off. Live rows and the newest rows of a log have fewer bytes."""
FEW_BYTES = 1 << 13
"""Fewer bytes than this are parsed just as fast without polars, even once it is imported."""
TOO_LONG = "line longer than 1 MiB"


class LineBuffer:
    """Holds back the unfinished last line. With `carriage_returns`, a progress bar's `\\r` ends a line, too.

    `too_long`: one entry for each line that the last `feed` left out because it is longer than MAX_LINE: the number of
    newlines before it in what that `feed` returned. `peeked_whole`: `peek` had returned a whole line, which `feed` does
    not return again.
    """

    def __init__(self, carriage_returns: bool = False) -> None:
        self.too_long: list[int] = []
        self.rest = b""
        self._carriage_returns = carriage_returns
        self._dropping = False
        self._seen = b""  # what `peek` returned
        self.peeked_whole = False

    def feed(self, data: bytes) -> bytes:
        """Returns all lines that are now complete, each with its line end. A line that is too long is replaced by its
        line end."""
        self.too_long = []
        self.peeked_whole = False
        end = self._last_end(data, 0, len(data))
        if end and self.rest:
            block, self.rest = b"".join((self.rest, memoryview(data)[:end])), data[end:]
        elif end:
            block, self.rest = data[:end], data[end:]
        else:
            block, self.rest = b"", self.rest + data
        if self._dropping and end:
            block = block[self._next_end(block) - 1 :]
            self._dropping = False
        if len(block) > MAX_LINE:
            block = self._without_long(block)
        if len(self.rest) > MAX_LINE:
            if not self._dropping:
                self.too_long.append(block.count(b"\n"))
            self._dropping = True
        if self._dropping:
            self.rest = b""
        if self._seen and block:
            first = self._next_end(block)
            if block[: first - 1] == self._seen:
                block = block[first - 1 :]
                self.peeked_whole = True
            self._seen = b""
        return block

    def peek(self) -> bytes:
        """Returns the unfinished last line; empty if it was returned before and has not grown."""
        if self.rest == self._seen:
            return b""
        self._seen = self.rest
        return self.rest

    def _last_end(self, data: bytes, start: int, stop: int) -> int:
        end = data.rfind(b"\n", start, stop)
        if self._carriage_returns:
            end = max(end, data.rfind(b"\r", max(end, start), stop))
        return end + 1

    def _next_end(self, data: bytes) -> int:
        end = data.find(b"\n") + 1
        if self._carriage_returns:
            before = data.find(b"\r", 0, end or len(data)) + 1
            return before or end
        return end

    def _without_long(self, block: bytes) -> bytes:
        if self._all_short(block):
            return block
        kept = []
        at = 0
        while at < len(block):
            end = self._last_end(block, at, at + MAX_LINE + 1)
            if end:
                kept.append(block[at:end])
            else:
                end = at + self._next_end(block[at:])
                kept.append(block[end - 1 : end])
                self.too_long.append(block.count(b"\n", 0, at))
            at = end
        return b"".join(kept)

    def _all_short(self, block: bytes) -> bool:
        at = 0
        while at < len(block):
            end = self._last_end(block, at, at + MAX_LINE + 1)
            if not end:
                return False
            at = end
        return True


@contextmanager
def unchanged(skipped: Counter[str], skipped_at: dict[str, str]) -> Iterator[None]:
    """Forgets what is skipped inside the `with` block. The objects stay the same because others hold references to
    them."""
    before, places = skipped.copy(), skipped_at.copy()
    yield
    skipped.clear()
    skipped.update(before)
    skipped_at.clear()
    skipped_at.update(places)
