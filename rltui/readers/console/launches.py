"""A log to which a later launch was appended by another logger. What was learned about the first launch does not show
how to read the lines of the next. So once the known rows stop coming, the lines since the newest row are also read as a
log of their own. If that log has rows whose steps went back, another launch began, and its reader takes over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rltui.readers.base import NO_STEP, Counted, LeftOut, LogLine, Note, Record, Recurring, Rows
from rltui.readers.console.foretelling import Foretelling
from rltui.readers.console.log_records import MAX_LOG_LINES
from rltui.readers.console.reader import ConsoleReader
from rltui.readers.console.run_sections import OwnText, RunSections
from rltui.readers.console.twin import twin

LOOK_EVERY = 1000
"""After this many lines since the newest row it is checked whether another launch began; then after twice as many, and
so on."""
MOST_LINES = 32_000
"""The last of these checks is after this many lines: a log that has no more rows ends in other lines."""
MOST_BYTES = 4 << 20
"""Most bytes of these lines."""
USUAL = 4
"""Rows have stopped coming if the lines since the newest row exceed this many times the usual number between rows, plus
`FEW`."""
FEW = 8
ROWS = 3
"""This many rows that rise are steps."""
ANOTHER_RUN = "another run begins here"
OF_OTHERS = "line of another run in this log"


class ConsoleLog(Foretelling):
    """Reads a console log with all its launches. See `ConsoleReader`."""

    whole = False

    def __init__(self, format: str = "console", run: str = "") -> None:
        """`run`: the run to read, if the log names several; by default its first."""
        super().__init__()
        self._run, self._sections = run, RunSections(run)
        self.format = format
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._reader = ConsoleReader(format)
        self._lines = 0  # complete lines that it was given
        self._since: bytes | None = b""  # the text after the line of its newest row; None: too much
        self._row_line = 0
        self._next: ConsoleReader | None = None  # reads the same text as another launch
        self._of_next: Rows = Rows()
        self._look_at = LOOK_EVERY

    @property
    def torn_line(self) -> int:
        """The newest line that was read without its end."""
        return self._reader.torn_line

    @torn_line.setter
    def torn_line(self, line: int) -> None:
        self._reader.torn_line = line

    def only_rows(self) -> None:
        self._reader.only_rows()

    @property
    def guesses_steps(self) -> bool:
        """Whether a line without a step got one that may be wrong."""
        return self._reader.guesses_steps

    @property
    def waits(self) -> bool:
        return self._reader.waits or super().waits

    def left_out(self) -> list[LeftOut]:
        """The lines of the newest launch from which nothing was taken."""
        return self._reader.left_out()

    def recurring(self) -> list[Recurring]:
        """The left-out lines that recur and hold named numbers, the most frequent first."""
        return self._reader.recurring()

    def _feed(self, data: bytes) -> list[Record]:
        return self._read(self._sections.feed(data))

    def _read(self, pieces: Sequence[OwnText]) -> list[Record]:
        out: list[Record] = []
        for text, over in pieces:
            out += self._read_own(text) if text else []
            if over:
                step = self._reader.step
                out.append(Note("next", ANOTHER_RUN, over, step, after=step, laps=self._reader.laps))
        return out

    def _read_own(self, data: bytes) -> list[Record]:
        out: list[Record] = []
        at, at_once = 0, True
        while at < len(data):
            left, lines = self._row_line + self._look_at - self._lines, data.count(b"\n", at)
            end, before = len(data), None
            if lines >= left and at_once:  # quicker, and right if rows come so often that no check is due
                before, self._reader = self._reader, self._copied()
            elif lines >= left:
                lines, end = left, at
                for _ in range(left):
                    end = data.index(b"\n", end) + 1
            piece = data if end - at == len(data) else data[at:end]
            self._reader.pace.longest = 0
            told = self._reader._feed(piece)
            now = self._lines + lines
            if before is not None:
                at_once = False
                usual = self._reader.pace.lines_a_row
                longest = max(self._reader.pace.longest, now - self._reader.row_line)
                if usual is not None and longest >= max(LOOK_EVERY, USUAL * usual + FEW):
                    self._reader = before
                    continue
            out += told
            self._take(piece, lines)
            at = end
            if self._lines >= self._row_line + self._look_at:
                self._look_at *= 2
                out += self._ask()
                if self._look_at > MOST_LINES:
                    self._since, self._next = None, None
        if self.takes_back and self._stays_away and self._next is None:
            self._begin_next()  # it is checked with each look
        self._count_skipped()
        return out if at_once else _with_newest_lines(out)

    def _copied(self) -> ConsoleReader:
        copied = twin(self._reader, {})
        assert isinstance(copied, ConsoleReader)
        return copied

    def _finish(self) -> list[Record]:
        held = self._read(self._sections.flush())
        out, before = held + self._reader._finish(), self._reader
        out += self._ask()
        if self._reader is not before:
            out += self._reader._finish()
        self._count_skipped()
        return out

    def _rest(self) -> list[Record]:
        held = self._read(self._sections.flush(surely=self.takes_back))
        out, before = held + self._reader._rest(), self._reader
        out += self._ask()
        if self._reader is not before:
            out += self._reader._rest()
        self._count_skipped()
        return out

    def _take(self, data: bytes, lines: int) -> None:
        """Keeps what may belong to another launch. `lines`: how many lines end in these bytes, which were read."""
        self._lines += lines
        if self._reader.row_line > self._row_line:
            self._row_line, self._look_at = self._reader.row_line, LOOK_EVERY
            self._next, self._of_next = None, Rows()
            over = self._lines - self._row_line  # complete lines after that one
            text = (self._since or b"") + data if lines <= over else data
            begin = len(text)
            for _ in range(over + 1):
                begin = text.rfind(b"\n", 0, begin)
            self._since = text[begin + 1 :] if begin >= 0 else b""
        elif self._next is not None:
            self._of_next_take(self._next._feed(data))
        elif self._since is not None:
            self._since += data
            if len(self._since) > MOST_BYTES:
                self._since = None

    def _of_next_take(self, records: Iterable[Record]) -> None:
        for record in records:
            if isinstance(record, Rows) and not record.printed:
                self._of_next.append(record)

    def _ask(self) -> list[Record]:
        """The rows of another launch, if one began: its reader then takes over."""
        if not self._stays_away:
            return []
        if self._next is None:
            self._begin_next()
        if self._next is None or not self._began(self._next):
            return []
        rows, self._of_next = self._of_next, Rows()
        reader, self._next = self._next, None
        reader.gives_lines = self._reader.gives_lines
        self._reader, self._row_line = reader, max(self._row_line, reader.row_line)
        self._since, self._look_at = None, LOOK_EVERY
        return [rows] if len(rows) else []

    @property
    def _stays_away(self) -> bool:
        """Whether many more lines came since the newest row than usually between two rows."""
        usual = self._reader.pace.lines_a_row
        return usual is not None and self._lines - self._row_line > USUAL * usual + FEW

    def _begin_next(self) -> None:
        if self._since is not None:
            self._next = ConsoleReader(self.format, self._row_line)
            self._next.only_rows()
            self._of_next_take(self._next._feed(self._since))
            self._since = None

    def _began(self, reader: ConsoleReader) -> bool:
        """Whether what this reader reads is another launch: its steps rise, and do not begin above the newest one."""
        ahead = twin(reader, {})
        assert isinstance(ahead, ConsoleReader)
        told = ahead._finish()
        steps = [*self._of_next.steps, *(s for one in told if isinstance(one, Rows) for s in one.steps)]
        counted = ahead.counted or NO_STEP in steps or any(isinstance(one, Counted) and one.on for one in told)
        newest = self._reader.step
        if counted or newest is None or len(steps) < ROWS or steps[0] > newest:
            return False
        return all(a <= b for a, b in pairwise(steps[:ROWS])) and steps[0] < steps[-1]

    def _count_skipped(self) -> None:
        others = self._sections.others if self._sections.first_other and not self._run else 0
        skipped = {**self._reader.skipped, **({OF_OTHERS: others} if others else {})}
        places = {**self._reader.skipped_at, **({OF_OTHERS: f"line {self._sections.first_other}"} if others else {})}
        for held, own in ((self.skipped, skipped), (self.skipped_at, places)):
            if held != own:
                held.clear()
                held.update(own)  # type: ignore[arg-type]


def _with_newest_lines(records: list[Record]) -> list[Record]:
    """These records with only the newest plain lines, as each of several pieces may have given the most allowed."""
    over = sum(isinstance(record, LogLine) for record in records) - MAX_LOG_LINES
    if over <= 0:
        return records
    first = [record for record in records if isinstance(record, LogLine)][over]
    return [record for record in records if not isinstance(record, LogLine) or record.line >= first.line]
