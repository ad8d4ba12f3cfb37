"""From what lines tell to rows, and to the count of what is left out.

A line whose end is not written yet may still go on: its last number may be cut, its name may be the beginning of
another. So a torn line brings no new name, and what only the whole line can say waits for its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from rltui.readers.console.cut_number import CutNumber, StepNames
from rltui.readers.console.dialects.base import Step
from rltui.readers.console.log_records import LogNews, LogRows
from rltui.readers.console.name_words import shown
from rltui.readers.console.numbered_names import NumberedNames
from rltui.readers.console.step_template import StepRow
from rltui.readers.console.untaken import UntakenLines

CHANGING_NAME = "number by a name that is another one at each step"
NAMELESS_NUMBER = "number without a name in a line with its step"


class RowIntake:
    """Takes the steps that lines tell, in file order. `skipped` counts what is left out by reason, `skipped_at` says
    where the first was."""

    def __init__(
        self, rows: LogRows, news: LogNews, untaken: UntakenLines, skipped: Counter[str], skipped_at: dict[str, str]
    ) -> None:
        self.torn = False
        """The line that is read has no end."""
        self._rows, self._news, self._untaken = rows, news, untaken
        self._skipped, self._skipped_at = skipped, skipped_at
        self._cut: CutNumber | None = None  # at the end of that line
        self._names = StepNames()
        self._numbered = NumberedNames()
        self._waiting: list[StepRow] = []  # what that line says with it
        self._reasons: list[str] = []  # why that line is left out
        self._lost_ahead: set[int] = set()  # lines with numbers that were counted as they were foretold

    def begin(self, rest: bytes) -> None:
        """What may go on is read: `rest` is a line without its end, or nothing."""
        self.torn, self._cut = bool(rest), CutNumber.of(rest)
        if rest:
            self._reasons.clear()
            self._waiting.clear()

    def end(self) -> None:
        self.torn, self._cut = False, None

    def go_on(self, whole: bool, line: int) -> list[StepRow]:
        """More came. If the torn line was `whole`, it counts as it was read: its rows that waited."""
        for reason in self._reasons if whole else ():
            self.skip(reason, line)
        self._reasons.clear()
        waiting, self._waiting = self._waiting if whole else [], []
        return waiting

    def wait(self, rows: Iterable[StepRow]) -> None:
        """Rows of a torn line, whose names may be new."""
        self._waiting += rows if self.torn else []

    def tell(self, rows: Iterable[StepRow], line: int, *, plans: bool = False) -> bool:
        """Adds rows. Their `plans` are news only of rows that end with the line that is read. Returns whether one is
        of that line."""
        took = False
        for row in map(self._named, rows):
            if self._cut is not None:
                row, waiting = self._cut.left_out(row, self._names)
                self._waiting += waiting
            if self.torn and (known := self._rows.names):
                row = replace(row, cells={name: x for name, x in row.cells.items() if name in known})
            if not self.torn:
                self._names.take(row)
            self._rows.tell(row)
            self._count_lost(row)
            self._untaken.take(row.lines)
            took |= line in row.lines
            if row.total is not None and plans:
                self._news.progress(row.step, row.total, line)
        return took

    def _named(self, row: StepRow) -> StepRow:
        """A row with its names as the line has them, without those that tell nothing."""
        if not all(map(str.isascii, row.cells)):
            row = replace(row, cells={shown(name): x for name, x in row.cells.items()})
        without = [] if self.torn else self._numbered.changing(row)
        if not without:
            return row
        if not self._rows.foretells:
            self.skip(CHANGING_NAME, row.lines[0] if row.lines else 0, len(without))
        return replace(row, cells={name: x for name, x in row.cells.items() if name not in without})

    def add_steps(self, steps: Iterable[Step], line: int, *, plans: bool = False) -> None:
        """Adds steps of a dialect."""
        for done in steps:
            self._rows.add(done.step, done.cells, done.time)
            self._untaken.take((done.line,))
            if done.total is not None and plans:
                self._news.progress(done.step, done.total, line)

    def _count_lost(self, row: StepRow) -> None:
        """Counts the numbers of a line that nothing names, once its end came; what is foretold comes again."""
        line = row.lines[0] if row.lost and row.lines else 0
        if not line or line in self._lost_ahead or self.torn:
            self._lost_ahead.discard(line)
            return
        if self._rows.foretells:
            self._lost_ahead.add(line)
        self.skip(NAMELESS_NUMBER, line, row.lost)

    def skip_when_whole(self, reason: str, line: int) -> None:
        """Something of this line is left out. If the line is torn, that counts once it has its end."""
        if self.torn:
            self._reasons.append(reason)
        else:
            self.skip(reason, line)

    def skip(self, reason: str, line: int, lines: int = 1) -> None:
        """So many `lines` are left out, the first of them here."""
        if lines:
            self._skipped[reason] += lines
            self._skipped_at.setdefault(reason, f"line {line}")
