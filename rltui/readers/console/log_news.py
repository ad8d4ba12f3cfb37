"""What a console log says beside numbers: notes and settings, how far the work is, and its newest plain lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from rltui.readers.base import ConfigRecord, LogLine, Note, Record
from rltui.readers.console.line_clock import time_of
from rltui.readers.console.notes import split_prefix
from rltui.readers.console.progress_bar import ProgressBar, bar
from rltui.text import clean


class LogNews:
    """Collects it in the order of the lines; of how far the work is, only the newest."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._newest: dict[str, Note] = {}
        self._progress: tuple[int | None, int | None] = (None, None)
        self._other_bar: ProgressBar | None = None

    def add(self, records: Iterable[Note | ConfigRecord]) -> None:
        for record in records:
            if isinstance(record, Note) and record.kind in ("progress", "phase"):
                self._newest[record.kind] = record
            else:
                self._records.append(record)

    def progress(self, done: int, total: int, line: int) -> None:
        """So many steps are done of those that are planned."""
        if self._progress != (done, total):
            self._progress = (done, total)
            self._newest["progress"] = Note("progress", f"step {done} of {total}", line, done, total)

    def end(self, said: bytes, line: int, step: int | None) -> None:
        """The trainer says that it is done."""
        self.add([Note("end", clean(said.decode("utf-8", "replace"), 500), line, step)])

    def other_work(self, painted: ProgressBar, line: int) -> None:
        """A bar of a validation or a rollout under way."""
        if painted.total and painted != self._other_bar:
            self._other_bar = painted
            done = f"{painted.name or 'other work'}: {painted.done} of {painted.total}"
            self._newest["phase"] = Note("phase", clean(done, 200), line)

    def take(self) -> list[Record]:
        """All since the last call."""
        records = [*self._records, *self._newest.values()]
        self._records.clear()
        self._newest.clear()
        return records


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
