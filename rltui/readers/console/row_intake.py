"""Turns the steps found in lines into rows, and counts what is left out.

A line whose end is not written yet may go on: its last number may be cut, and a name may be the beginning of a longer
one. So a torn (unfinished) line brings no new name, and what only the complete line can say waits for its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from rltui.readers.console.cut_number import CutNumber, StepNames
from rltui.readers.console.dialects.base import Step
from rltui.readers.console.log_records import LogNews, LogRows
from rltui.readers.console.numbered_names import NumberedNames
from rltui.readers.console.step_template import NAMED_TWICE, StepRow
from rltui.readers.console.untaken import UntakenLines
from rltui.readers.name_words import shown

CHANGING_NAME = "number whose name changes at each step"
NAMELESS_NUMBER = "number without a name in a line with its step"


class RowIntake:
    """Takes the steps found in lines, in file order. `skipped`: reason -> how much is left out. `skipped_at`: reason ->
    where the first was."""

    def __init__(
        self, rows: LogRows, news: LogNews, untaken: UntakenLines, skipped: Counter[str], skipped_at: dict[str, str]
    ) -> None:
        self.torn = False
        """Whether the current line is unfinished."""
        self._rows, self._news, self._untaken = rows, news, untaken
        self._skipped, self._skipped_at = skipped, skipped_at
        self._cut: CutNumber | None = None  # the number at the end of that line
        self._names = StepNames()
        self._numbered = NumberedNames()
        self._waiting: list[StepRow] = []  # rows that count only if that line is complete
        self._reasons: list[str] = []  # why that line is left out
        self._lost_ahead: set[int] = set()  # lines whose nameless numbers were counted while foretelling

    def begin(self, rest: bytes) -> None:
        """Begins to read an end that may go on. `rest`: an unfinished line, or nothing."""
        self.torn, self._cut = bool(rest), CutNumber.of(rest)
        if rest:
            self._reasons.clear()
            self._waiting.clear()

    def end(self) -> None:
        self.torn, self._cut = False, None

    def go_on(self, whole: bool, line: int) -> list[StepRow]:
        """Called if more bytes came. If the torn line was `whole`, it counts as it was read. Returns its rows that
        waited."""
        for reason in self._reasons if whole else ():
            self.skip(reason, line)
        self._reasons.clear()
        waiting, self._waiting = self._waiting if whole else [], []
        return waiting

    def tell(self, rows: Iterable[StepRow], line: int, *, plans: bool = False) -> bool:
        """Adds rows. `plans`: the totals that they state are taken as the plan. Returns whether one of them is from
        this line."""
        took = False
        for row in map(self._named, rows):
            if self._cut is not None:
                row, waiting = self._cut.left_out(row, self._names)
                self._waiting += waiting
            if self.torn and (known := self._rows.names):
                new = {name: x for name, x in row.cells.items() if name not in known}
                self._waiting += [replace(row, cells=new)] if new else []  # that name may be cut off
                row = replace(row, cells={name: x for name, x in row.cells.items() if name in known})
            if not self.torn:
                self._names.take(row)
            told = self._rows.tell(row)
            self._count_lost(row)
            self._untaken.take(row.lines)
            took |= line in row.lines
            self._plan(told if plans else (), line)
        return took

    def look_back(self, line: int) -> None:
        """Adds the rows that wait, as the log ends here for now."""
        self._plan(self._rows.look_back(), line)

    def resumed(self, line: int) -> None:
        """Adds the rows that wait, as another attempt may begin below this line."""
        self._plan(self._rows.resumed(), line)

    def _plan(self, rows: Iterable[StepRow], line: int) -> None:
        for row in rows:
            if row.total is not None:
                self._news.progress(row.step, row.total, line)

    def _named(self, row: StepRow) -> StepRow:
        """A row with its names as the line has them, without names that change at each step."""
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
        """Counts the numbers of a complete line that have no name of their own; only once if the line is read again."""
        line = row.lines[0] if (row.lost or row.twice) and row.lines else 0
        if not line or line in self._lost_ahead or self.torn:
            self._lost_ahead.discard(line)
            return
        if self._rows.foretells:
            self._lost_ahead.add(line)
        self.skip(NAMELESS_NUMBER, line, row.lost)
        self.skip(NAMED_TWICE, line, row.twice)

    def skip_when_whole(self, reason: str, line: int) -> None:
        """Counts that a part of this line is left out. If the line is torn, it is counted only with its end."""
        if self.torn:
            self._reasons.append(reason)
        else:
            self.skip(reason, line)

    def skip(self, reason: str, line: int, lines: int = 1) -> None:
        """Counts that `lines` lines are left out, the first of them at `line`."""
        if lines:
            self._skipped[reason] += lines
            self._skipped_at.setdefault(reason, f"line {line}")
