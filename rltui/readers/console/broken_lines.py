"""Logged dicts that a terminal's width broke into several lines."""

from __future__ import annotations

from rltui.readers.console.generic import dict_line
from rltui.readers.console.line_filter import SCAN_LIMIT
from rltui.readers.console.trl import cells

_MOST = 100
"""Lines of one dict at most."""


class BrokenLines:
    """Joins the lines of a dict again. Lines that make no dict of metrics are given back as they were."""

    def __init__(self) -> None:
        self._held: list[tuple[int, bytes]] = []
        self._size = 0
        self.after_blank = False  # the first of the lines held stood behind a blanked progress bar

    @property
    def is_open(self) -> bool:
        return bool(self._held)

    @staticmethod
    def opens(line: bytes) -> bool:
        """Whether a dict begins in a line and does not end there."""
        return line.rfind(b"{'") > line.rfind(b"}")

    def take(self, line: bytes, number: int) -> list[tuple[int, bytes]]:
        """The lines that are whole with this one, each with the number of the line that it begins in."""
        if self._held and (self.opens(line) or b"%|" in line or not line.strip()):
            given = self.give_back()
            return [*given, *(self.take(line, number) if self.opens(line) else [(number, line)])]
        self._held.append((number, line.rstrip(b"\r")))
        self._size += len(line)
        if line.rstrip().endswith(b"}"):
            held = self.give_back()
            whole = b"".join(part for _, part in held)
            known = cells(whole) is not None or dict_line(whole.decode("utf-8", "replace")) is not None
            return [(held[0][0], whole)] if known else held
        if len(self._held) > _MOST or self._size > SCAN_LIMIT:
            return self.give_back()
        return []

    def give_back(self) -> list[tuple[int, bytes]]:
        """The lines that were held, each for itself."""
        held, self._held, self._size = self._held, [], 0
        return held
