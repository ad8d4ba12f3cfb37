"""Console logs: one reader that knows several dialects and takes each line as it comes.

A log names its trainer late, after pages of start-up noise, and may hold the output of several programs; so the
dialects are not chosen beforehand. Step lines of verl are cut out first, many at once; of the rest only those
lines are looked at that hold one of a few marks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate

from rltui.readers.base import Counted, Hint, LeftOut, Note, Record
from rltui.readers.console import line_pattern
from rltui.readers.console import trl as trl_console
from rltui.readers.console import verl as verl_console
from rltui.readers.console.bar_numbers import BarNumbers
from rltui.readers.console.broken_lines import BrokenLines
from rltui.readers.console.config import YAML_LINES, ConfigFinder
from rltui.readers.console.dialects import DIALECTS
from rltui.readers.console.invalid_rounds import InvalidRounds
from rltui.readers.console.lead import plain
from rltui.readers.console.line_filter import SCAN_LIMIT, LineFilter, shape_of
from rltui.readers.console.newest_lines import NewestLines
from rltui.readers.console.notes import NoteFinder, split_prefix
from rltui.readers.console.own_words import OwnWords
from rltui.readers.console.progress_bar import TRAINING, ProgressBar, bar, behind_bar
from rltui.readers.console.step_template import StepRow
from rltui.readers.console.unread import UnreadLines
from rltui.readers.console.untaken import UntakenLines
from rltui.readers.console.wrapped import Unwrapper
from rltui.readers.lines import TOO_LONG, LineBuffer
from rltui.readers.rows import RowBuilder
from rltui.text import clean

FULL_BLOCK = 1_000_000
"""A read of so many bytes is one of many through a long file: its plain lines wait until the last one."""

_BLANK = re.compile(rb" {10,}")


@dataclass(slots=True)
class _StepLines:
    """verl's step lines of one block: where they began in the text without them, how far reading and adding got."""

    steps: list[int]
    lines: list[bytes]
    offsets: list[int]
    reached: int = 0
    added: int = 0


class ConsoleReader:
    """Reads a console log of any dialect. `format` is the dialect that was recognised; it changes little: a log known
    to be verl's or TRL's is not searched for other trainers' lines."""

    whole = False

    def __init__(self, format: str = "console") -> None:
        self.format = format
        self.gives_lines = True  # plain lines for the log pane; who wants none saves their cleaning
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._buffer = LineBuffer(carriage_returns=True)
        self._unwrapper = Unwrapper()
        self._rows = RowBuilder(self.skipped, self.skipped_at)
        self._given: list[Record] = []  # rows that came before the steps of others were known, and those
        self._counts = False  # rows were counted, as nothing tells their steps
        self._cut = _StepLines([], [], [])
        self._notes = NoteFinder()
        self._rounds = InvalidRounds()
        self._stepper = trl_console.Stepper()
        self._patterns = line_pattern.in_use()
        self._unread: UnreadLines | None = UnreadLines()  # None: a row came
        self._counted_lines = False  # the user's pattern names no step
        self._own = OwnWords(self._skip_here) if format == "console" and not self._patterns else None
        self._dialects = [dialect() for dialect in DIALECTS] if self._own is not None else []
        self._bar_numbers = BarNumbers()
        self._config = ConfigFinder()
        self._before_steps = self._own is not None  # YAML may be printed
        self._line = 1  # number of the line that the next byte belongs to
        self._step: int | None = None  # newest training step
        self._after_blank = False  # the newest segment of the file was a blanked progress bar
        self._progress: tuple[int | None, int | None] = (None, None)
        self._other_bar: ProgressBar | None = None
        self._filter = LineFilter()
        self._broken = BrokenLines()
        self._newest = NewestLines()
        self._untaken = UntakenLines()
        self._took = False  # something of the line was taken
        self._set_looks()

    @property
    def guesses_steps(self) -> bool:
        """A line that states no step got one that it may not have."""
        return self._stepper.guessed

    def left_out(self) -> list[LeftOut]:
        """The lines of which nothing was taken."""
        return self._untaken.told()

    def feed(self, data: bytes) -> list[Record]:
        self._untaken.forget_peek()
        block = self._buffer.feed(self._unwrapper.feed(data))
        self._skip("line that is not JSON in a log of JSON lines", self._line, self._unwrapper.foreign)
        for before in [*self._buffer.too_long, *(0 for _ in range(self._unwrapper.too_long))]:
            self._skip(TOO_LONG, self._line + before)
        if block and self._own is not None:
            self._own.go_on(self._buffer.peeked_whole)
        records = self._read(block) if block else []
        if self.gives_lines and len(data) < FULL_BLOCK:
            records += self._newest.take()
        return records

    def finish(self) -> list[Record]:
        opened = self.feed(head) if (head := self._unwrapper.finish()) else []
        rest = self._buffer.peek()
        line = self._line
        newest: dict[str, Note] = {}
        if self._own is not None:
            self._tell(self._own.settle())
            if rest:
                self._own.look_ahead()
        self._untaken.open_line = line if rest else 0
        records = self._read(rest) if rest else []
        self._give(self._broken.give_back(), records, newest)
        self._untaken.open_line = 0
        self._line = line  # the line is not over
        self._add_placed(self._stepper.settle())
        for dialect in self._dialects:
            for done in dialect.close():
                self._add(done.step, done.cells)
        if self._own is not None:
            self._tell([*self._own.look_back(), *self._own.close()])
        self._add_painted(self._bar_numbers.so_far)
        records += newest.values()
        ends = self._notes.finish(line, self._step)
        out = [*opened, *records, *self._config.finish(), *ends, *self._take_rows(), *self._newest.take()]
        return out if self._unread is None else [*out, Hint(self._unread.hint())]

    def rest(self) -> list[Record]:
        """Rows that are held back until what follows tells more of them: nothing follows for now."""
        painted = self._buffer.rest.rpartition(b"\r")[2].rstrip()
        if (
            self._own is not None
            and self._own.learns
            and painted.endswith(b"]")
            and (shown := bar(painted)) is not None
        ):
            self._take_postfix(shown, painted)  # a bar ends when it is painted again
        self._add_placed(self._stepper.settle())
        self._add_painted(self._bar_numbers.so_far)
        if self._own is not None:
            self._tell(self._own.so_far())
        hint = [] if self._unread is None or self._unread.hint() == "" else [Hint(self._unread.told)]
        return [*self._take_rows(), *hint]

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _read(self, block: bytes) -> list[Record]:
        text = block
        if b"step:" in block:
            steps, lines, around = verl_console.cut(block)
            if lines:
                self._cut = _StepLines(steps, lines, list(accumulate(map(len, around[:-1]))))
                text = b"".join(around)
        records = self._scan(text)
        self._reach(len(text))
        self._add_cut()
        self._cut = _StepLines([], [], [])
        return [*records, *self._take_rows()]

    def _take_rows(self) -> list[Record]:
        given, self._given = self._given, []
        given += self._rows.take()
        if self._counts != (counts := self._stepper.counts or self._counted_lines):
            self._counts = counts
            given.append(Counted(counts, {}))
        return given

    def _scan(self, text: bytes) -> list[Record]:
        """Everything but verl's step lines."""
        out: list[Record] = []
        newest: dict[str, Note] = {}
        first_line = self._line
        at = 0
        follows = self._follows()
        for line in text.split(b"\n"):
            for segment in line.split(b"\r") if b"\r" in line else (line,):
                shape = shape_of(segment)
                self._took = False
                if self._patterns and self._by_pattern(segment, at, newest):
                    self._took = True
                elif (segment and self._broken.is_open) or (b"{" in segment and self._broken.opens(segment)):
                    self._reach(at)
                    self._join(segment, text, at, out, newest)
                    self._took = True  # or it was given back, and counted then
                    follows = self._follows()
                elif shape and (follows or shape not in self._filter.dull):
                    self._reach(at)
                    if not self._segment(segment, shape, text, at, out, newest):
                        self._filter.forget(shape, self._filter.dull)
                    follows = self._follows()
                elif shape and self._own is not None and self._own.learns:
                    self._any_line(self._own, segment, shape, newest)
                    follows = self._own.is_open
                if shape and not self._took:
                    self._untaken.add(shape, segment, self._line)
                at += len(segment) + 1
            self._line += 1
        self._line -= 1
        self._after_blank = self._blank_before(text, len(text))
        if self.gives_lines:
            self._newest.keep(text, first_line)
        if self._unread is not None:
            self._unread.keep(text, first_line)
        return [*out, *newest.values()]

    def _join(self, segment: bytes, text: bytes, at: int, out: list[Record], newest: dict[str, Note]) -> None:
        """A line of a dict that a terminal broke, or that may be one."""
        if not self._broken.is_open:
            self._broken.after_blank = self._blank_before(text, at)
        self._give(self._broken.take(segment, self._line), out, newest)

    def _give(self, lines: list[tuple[int, bytes]], out: list[Record], newest: dict[str, Note]) -> None:
        """Reads lines that were held, each at its number."""
        here, self._after_blank = self._after_blank, self._broken.after_blank
        now = self._line
        for self._line, line in lines:
            self._took, shape = False, shape_of(line)
            self._segment(line, shape, b"", 0, out, newest)
            if shape and not self._took:
                self._untaken.add(shape, line, self._line)
        self._after_blank, self._line = here, now

    def _reach(self, at: int) -> None:
        """Takes note of the step lines before a place of the text."""
        cut = self._cut
        reached = bisect_right(cut.offsets, at)
        if reached > cut.reached:
            self._found_dialect()
            cut.reached = reached
            self._step = cut.steps[reached - 1]

    def _add_cut(self) -> None:
        """Adds the rows of the step lines reached: many at once, but before a row of another dialect behind them."""
        cut = self._cut
        if cut.added < cut.reached:
            part = slice(cut.added, cut.reached)
            cut.added = cut.reached
            verl_console.parse(cut.steps[part], cut.lines[part], self._rows)
            self._read_one()

    def _add(self, step: int, cells: Mapping[str, object]) -> None:
        self._add_cut()
        self._rows.add(step, cells)
        self._step = step
        self._read_one()

    def _add_placed(self, rows: list[trl_console.Row]) -> None:
        """Adds rows behind those that were counted, whose steps may be known by now."""
        if placed := self._stepper.take_placed():
            self._add_cut()
            self._counts = self._stepper.counts
            self._given += [*self._rows.take(), Counted(self._counts, placed)]
            self._step = max(placed.values())
        for step, cells in rows:
            self._add(step, cells)

    def _follows(self) -> bool:
        """Whether lines matter now that would not matter by themselves."""
        if self._config.is_open or self._notes.in_traceback or (self._own is not None and self._own.is_open):
            return True
        return bool(self._dialects) and any(dialect.is_open for dialect in self._dialects)

    def _segment(
        self,
        segment: bytes,
        shape: bytes,
        text: bytes,
        at: int,
        out: list[Record],
        newest: dict[str, Note],
        behind: bool = False,
    ) -> bool:
        """One line or painted bar, at a place of the text, `behind` a bar on its line. Returns whether a line of this
        shape can matter."""
        if self._before_steps and (self._step is not None or self._line > YAML_LINES):
            self._before_steps = False
            self._set_looks()
        following = self._follows()
        speaks = following or (shape not in self._filter.bars and self._filter.speaks(segment))
        barred = b"%|" in segment
        if not speaks and not barred and b"'epoch'" not in segment:
            return not behind and self._own is not None and self._any_line(self._own, segment, shape, newest)
        segment = segment[:SCAN_LIMIT]
        painted = bar(segment) if barred else None
        if painted is not None:
            self._took = True
            if self._own is not None and self._own.learns:
                self._take_postfix(painted, segment)
            self._paint(painted, text, at, newest)
            glued = behind_bar(segment)
            if glued and shape not in self._filter.bars and (speaks or b"'epoch'" in glued):
                # a buffered output writes its lines right behind the bar
                at += len(segment) - len(glued)
                if not self._segment(glued, shape_of(glued), text, at, out, newest, behind=True):
                    self._filter.forget(shape, self._filter.bars)
                return True
            if not speaks:
                self._filter.forget(shape, self._filter.bars)
                return True
        elif b"'epoch'" in segment and (line := trl_console.cells(segment)) is not None:
            self._took = True
            if "train_runtime" in line:
                out.append(Note("end", clean(segment.decode("utf-8", "replace"), 500), self._line, self._step))
            else:
                self._found_dialect()
                stated = trl_console.stated_step(line)
                if stated is not None:
                    self._add(stated[0], line)
                    if stated[1] is not None:
                        self._report(newest, stated[0], stated[1])
                    return True
                self._add_placed(self._stepper.place(line, self._blank_before(text, at)))
            return True
        decoded = segment.decode("utf-8", "replace")
        notes = self._notes.line(decoded, self._line, self._step)
        for note in notes:
            if note.kind == "progress" or note.kind == "phase":
                newest[note.kind] = note
            else:
                out.append(note)
        prefix, message = split_prefix(decoded)
        configs = self._config.line(prefix, message, self._line, self._step is None, self._before_steps)
        out += configs
        matters = bool(configs)
        self._took |= bool(notes or configs or self._config.is_open or self._notes.in_traceback)
        counted = self._rounds.line(message, self._step)
        if counted is not None:
            self._took = True
            self._add_cut()
            self._rows.add(*counted)
            return True
        if self._own is not None and painted is None:
            message = plain(message)
            if self._dialect_line(prefix, message, newest):
                self._own.other()
                matters = self._took = True
            else:
                self._own.at = self._line
                rows, found = self._own.named(message, shape, prefix, self._step, behind)
                self._tell(rows, newest)
                matters |= found
                self._took |= self._own.belongs
        return bool(painted or notes or matters or following or self._follows())

    def _paint(self, painted: ProgressBar, text: bytes, at: int, newest: dict[str, Note]) -> None:
        self._add_placed(self._stepper.paint(painted, self._blank_before(text, at)))
        trains = not painted.nested and painted.name in TRAINING
        if trains and painted.total == (self._stepper.total or painted.total):
            self._report(newest, painted.done, painted.total)
        elif self._bar_numbers.tell and (place := self._bar_numbers.place(painted)) is not None:
            if place[1]:
                self._report(newest, place[0], place[1])
        elif painted.total and painted != self._other_bar:
            self._other_bar = painted  # a validation or a rollout under way
            done = f"{painted.name or 'other work'}: {painted.done} of {painted.total}"
            newest["phase"] = Note("phase", clean(done, 200), self._line)

    # -- dialects --------------------------------------------------------------------------------------------------

    def _found_dialect(self) -> None:
        if self._own is not None:
            self._tell(self._own.close())
            self._own, self._before_steps = None, False
            self._dialects = []
            self._set_looks()

    def _dialect_line(self, prefix: str, message: str, newest: dict[str, Note]) -> bool:
        """A line of one of the dialects; false where none of them knows it."""
        for dialect in self._dialects:
            if dialect.is_open or any(mark in message for mark in dialect.marks):
                done = dialect.line(prefix, message)
                if done is None:
                    continue
                for step in done:
                    self._add(step.step, step.cells)
                    if self._own is not None:
                        self._own.stop()
                    if step.total is not None:
                        self._report(newest, step.step, step.total)
                return True
        return False

    def _any_line(self, own: OwnWords, segment: bytes, shape: bytes, newest: dict[str, Note]) -> bool:
        """A line without a mark: it may be a step line in words of its own. Returns whether it told of a step."""
        prefix, message = split_prefix(segment.decode("utf-8", "replace"))
        own.at = self._line
        rows = own.line(plain(message), shape, prefix)
        self._tell(rows, newest)
        return bool(rows)

    def _tell(self, rows: list[StepRow], newest: dict[str, Note] | None = None) -> None:
        """Adds rows; their plans are news if `newest` is there to take them."""
        for row in rows:
            if row.cells:
                self._add(row.step, row.cells)
            self._untaken.take(row.lines)
            self._took |= self._line in row.lines
            self._step = row.step
            if row.total is not None and newest is not None:
                self._report(newest, row.step, row.total)

    def _take_postfix(self, painted: ProgressBar, segment: bytes) -> None:
        self._add_painted(lambda: self._bar_numbers.take(painted, segment.decode("utf-8", "replace")))

    def _add_painted(self, numbers: Callable[[], list[tuple[int, dict[str, float]]]]) -> None:
        """Adds what bars show, if nothing else states steps."""
        if self._step is None or self._bar_numbers.tell:
            for row in numbers():
                self._add(*row)
        elif lost := self._bar_numbers.drop():
            self._skip("number behind a bar of batches, beside lines that state their steps", self._line, lost)

    def _by_pattern(self, segment: bytes, at: int, newest: dict[str, Note]) -> bool:
        """A line in the user's words. One without a step is of the newest step, if others state theirs."""
        message = plain(segment[:SCAN_LIMIT].decode("utf-8", "replace"))
        for pattern in self._patterns:
            cells = pattern.cells(message)
            if cells is None:
                continue
            self._reach(at)
            step, total = cells.pop("step", None), cells.pop("total", None)
            if step is None and not any("step" in other.names for other in self._patterns):
                self._counted_lines, step = True, float((self._step or 0) + 1)
            step = self._step if step is None else int(step) if step == step and abs(step) < 1e15 else None
            if step is not None:
                self._step = step
                if cells:
                    self._add(step, cells)
                if total is not None and total == total:
                    self._report(newest, step, int(total))
            return True
        return False

    def _read_one(self) -> None:
        """A row was read: no line needs to be suggested any more."""
        if self._unread is not None:
            self._given += [Hint("")] if self._unread.told else []
            self._unread = None

    # -- small parts -----------------------------------------------------------------------------------------------

    def _set_looks(self) -> None:
        marks = [mark for dialect in self._dialects for mark in dialect.marks]
        self._filter.look_for(marks, self._own is not None, self._before_steps)

    def _report(self, newest: dict[str, Note], done: int, total: int) -> None:
        if self._progress != (done, total):
            self._progress = (done, total)
            newest["progress"] = Note("progress", f"step {done} of {total}", self._line, done, total)

    def _blank_before(self, text: bytes, start: int) -> bool:
        """Whether the segment before this place (empty ones do not count) is a blanked progress bar."""
        while start and text[start - 1] in b"\r\n":
            start -= 1
        if not start:
            return self._after_blank
        if text[start - 1] != 0x20:
            return False
        begin = max(text.rfind(b"\n", 0, start), text.rfind(b"\r", 0, start)) + 1
        return _BLANK.fullmatch(text, begin, start) is not None

    def _skip_here(self, reason: str) -> None:
        self._skip(reason, self._line)

    def _skip(self, reason: str, line: int, lines: int = 1) -> None:
        if lines:
            self.skipped[reason] += lines
            self.skipped_at.setdefault(reason, f"line {line}")
