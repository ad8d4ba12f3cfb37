"""The console output that W&B captured: raw pieces of stdout and stderr inside the log."""

from __future__ import annotations

from rltui.readers.base import ConfigRecord, LogLine, Note, Reader, Record, Rows
from rltui.readers.console.reader import ConsoleReader

ENOUGH_ROWS = 3
"""So many console rows without one history row, and the run logs none: history lags a step behind, not three."""

TOGETHER = 100
"""At most so many pieces are read at once: the console reader gives out a bounded number of lines for one text."""


def _second(time: float | None) -> int | None:
    return None if time is None else int(time)


class CapturedConsole:
    """Text to records through a console reader. Both streams go to one reader in the order of their records, as they
    went to the terminal: the progress bars of stderr tell the steps of the lines on stdout.

    Lines and notes are yielded as they come. What else the text says (step lines, a printed config) repeats what the
    history and config records hold with more digits; it is kept back and yielded only if there is no history.
    """

    def __init__(self) -> None:
        self._reader: Reader | None = None
        self._pieces: list[bytes] = []  # of one second, not read yet
        self._time: float | None = None  # of the first of them
        self._held: list[Record] = []
        self._held_rows = 0
        self._needed: bool | None = None  # None: not known yet

    def history_seen(self) -> None:
        if self._needed is None:
            self._needed = False
            self._held.clear()

    def feed(self, text: bytes, time: float | None) -> list[Record]:
        """Takes a piece of output. Pieces of the same second are read together: a progress bar writes thousands."""
        out: list[Record] = []
        if self._pieces and (len(self._pieces) >= TOGETHER or _second(time) != _second(self._time)):
            out = self.flush()
        if not self._pieces:
            self._time = time
        self._pieces.append(text)
        return out

    def flush(self) -> list[Record]:
        """Reads the pieces that wait."""
        if not self._pieces:
            return []
        if self._reader is None:
            self._reader = ConsoleReader("console")
        text, self._pieces = b"".join(self._pieces), []
        return self._sort(self._reader.feed(text), self._time)

    def finish(self) -> list[Record]:
        out = self.flush()
        if self._reader is not None:
            out += self._sort(self._reader.finish(), None)
        return out + self._release()

    def _release(self) -> list[Record]:
        self._needed = True if self._held_rows else self._needed
        held, self._held = self._held, []
        return held if self._needed else []

    def _sort(self, records: list[Record], time: float | None) -> list[Record]:
        out: list[Record] = []
        for record in records:
            if isinstance(record, LogLine | Note):
                out.append(record._replace(line=0, time=time if record.time is None else record.time))
            elif self._needed is not False:
                if isinstance(record, Rows):
                    self._held_rows += len(record)
                    if time is not None:
                        for i, known in enumerate(record.times):
                            if known != known:
                                record.times[i] = time
                elif isinstance(record, ConfigRecord):
                    record = record._replace(origin=f"console in W&B: {record.origin}")
                self._held.append(record)
        if self._needed or self._held_rows >= ENOUGH_ROWS:
            out += self._release()
        return out
