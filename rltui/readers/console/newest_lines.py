"""The newest plain lines of a console log, for the log pane."""

from __future__ import annotations

from collections import deque

from rltui.readers.base import LogLine, Record
from rltui.readers.console.notes import split_prefix, time_of
from rltui.readers.console.progress_bar import bar
from rltui.text import clean

MAX_LOG_LINES = 500
"""Plain lines given out at once, the newest ones: the pane shows no more, and cleaning text costs."""
_SCAN_LIMIT = 20_000  # characters of one line that are looked at


class NewestLines:
    """Keeps raw lines as they come; cleans and gives them once."""

    def __init__(self) -> None:
        self._newest: deque[tuple[int, bytes]] = deque(maxlen=MAX_LOG_LINES)

    def keep(self, text: bytes, first_line: int) -> None:
        """`first_line`: number of the first line of the text."""
        lines = text.rsplit(b"\n", MAX_LOG_LINES + 1)
        number = first_line + text.count(b"\n") - len(lines) + 1
        if len(lines) > MAX_LOG_LINES + 1:
            lines[0] = b""
        self._newest.extend((number + i, line) for i, line in enumerate(lines) if line)

    def take(self) -> list[Record]:
        """The newest plain lines, cleaned; each once."""
        out: list[Record] = []
        for number, line in self._newest:
            segments = [s for s in line[-_SCAN_LIMIT:].split(b"\r") if s.strip()]
            if not segments or (b"%|" in segments[-1] and bar(segments[-1]) is not None):
                continue
            decoded = segments[-1][:4000].decode("utf-8", "replace")
            message = split_prefix(decoded)[1]
            if message.strip():
                out.append(LogLine(clean(decoded, 1000), number, time_of(message)))
        self._newest.clear()
        return out
