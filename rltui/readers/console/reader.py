"""Console logs: one reader that knows several dialects and takes each line as it comes.

A log names its trainer late, after pages of start-up noise, and may hold the output of several programs; so the
dialects are not chosen beforehand. Step lines of verl are cut out first, many at once; of the rest only those
lines are looked at that hold one of a few marks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from rltui.readers.base import Note, Record
from rltui.readers.console import generic as generic_console
from rltui.readers.console import trl as trl_console
from rltui.readers.console import verl as verl_console
from rltui.readers.console.config import MARKS as CONFIG_MARKS
from rltui.readers.console.config import YAML_LINES, YAML_MARK, ConfigFinder
from rltui.readers.console.dialects import DIALECTS
from rltui.readers.console.newest_lines import NewestLines
from rltui.readers.console.notes import NoteFinder, split_prefix, triggers
from rltui.readers.console.prefix import (
    TRAINING,
    InvalidRounds,
    ProgressBar,
    bar,
    behind_bar,
    is_wrapped,
    may_be_wrapped,
    plain,
    text_of,
)
from rltui.readers.console.template import TemplateLearner, postfix, trains
from rltui.readers.lines import TOO_LONG, LineBuffer
from rltui.readers.rows import RowBuilder
from rltui.text import clean

FULL_BLOCK = 1_000_000
"""A read of so many bytes is one of many through a long file: its plain lines wait until the last one."""

_HEAD = 32  # bytes that may tell a log whose text stands inside JSON lines; else its first line does
_SCAN_LIMIT = 20_000  # characters of one line that are looked at
_PROSE = 2000  # a line with more characters is no list of numbers
_DIGITS = b"0123456789."
_DULL_SHAPES = 20_000
_DULL_LENGTH = 1000
_STEP_MARKS = (b"step", b"Step", b"iteration", b"Iteration")
_BLANK = re.compile(rb" {10,}")
_escaped = cache(re.escape)  # the same marks for each log of a list


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
        self._unwrap: bool | None = None  # not known yet
        self._head = b""
        self._wrapped = LineBuffer()
        self._rows = RowBuilder(self.skipped, self.skipped_at)
        self._cut = _StepLines([], [], [])
        self._notes = NoteFinder()
        self._rounds = InvalidRounds()
        self._stepper = trl_console.Stepper()
        self._generic = format == "console"
        self._dialects = [dialect() for dialect in DIALECTS] if self._generic else []
        self._step_block: generic_console.StepBlock | None = None
        self._learner = TemplateLearner() if self._generic else None
        self._never: set[bytes] = set()  # shapes of lines that are no step lines of any wording
        self._behind_bar: tuple[int, dict[str, float]] | None = None  # numbers painted behind a bar, of its step
        self._config = ConfigFinder()
        self._before_steps = self._generic  # YAML may be printed
        self._line = 1  # number of the line that the next byte belongs to
        self._step: int | None = None  # newest training step
        self._after_blank = False  # the newest segment of the file was a blanked progress bar
        self._progress: tuple[int | None, int | None] = (None, None)
        self._other_bar: ProgressBar | None = None
        self._dull: set[bytes] = set()  # lines without their digits that were of no interest
        self._bars: set[bytes] = set()  # the same of progress bars that say nothing beside
        self._newest = NewestLines()
        self._set_looks()

    @property
    def guesses_steps(self) -> bool:
        """A line that states no step got one that it may not have."""
        return self._stepper.guessed

    def feed(self, data: bytes) -> list[Record]:
        if self._unwrap is None:
            data = self._head + data
            self._head = b""
            if len(data) < _HEAD or may_be_wrapped(data):
                self._head = data
                return []
            self._unwrap = is_wrapped(data)
        block = self._buffer.feed(self._unwrapped(data) if self._unwrap else data)
        for before in [*self._buffer.too_long, *(0 for _ in self._wrapped.too_long)]:
            self._skip(TOO_LONG, self._line + before)
        records = self._read(block) if block else []
        if self.gives_lines and len(data) < FULL_BLOCK:
            records += self._newest.take()
        return records

    def finish(self) -> list[Record]:
        opened: list[Record] = []
        if self._head:
            self._unwrap = False
            head, self._head = self._head, b""
            opened = self.feed(head)
        rest = self._buffer.peek()
        line = self._line
        records = self._read(rest) if rest else []
        self._line = line  # the line is not over
        for step, cells in self._stepper.settle():
            self._add(step, cells)
        for dialect in self._dialects:
            for done in dialect.close():
                self._add(done.step, done.cells)
        if self._learner is not None:
            for row in self._learner.settle():
                self._add(row.step, row.cells)
        if self._behind_bar is not None:
            self._add(*self._behind_bar)
        self._close_step_block()
        ends = self._notes.finish(line, self._step)
        return [*opened, *records, *self._config.finish(), *ends, *self._rows.take(), *self._newest.take()]

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
        return [*records, *self._rows.take()]

    def _scan(self, text: bytes) -> list[Record]:
        """Everything but verl's step lines."""
        out: list[Record] = []
        newest: dict[str, Note] = {}
        first_line = self._line
        at = 0
        follows = self._follows()
        for line in text.split(b"\n"):
            for segment in line.split(b"\r") if b"\r" in line else (line,):
                shape = segment.translate(None, _DIGITS)
                if shape and (follows or shape not in self._dull):
                    self._reach(at)
                    if not self._segment(segment, shape, text, at, out, newest):
                        self._remember(shape, self._dull)
                    follows = self._follows()
                elif shape and self._learner is not None:
                    self._learn(segment, shape, newest)
                    follows = self._learner is not None and self._learner.is_open
                at += len(segment) + 1
            self._line += 1
        self._line -= 1
        self._after_blank = self._blank_before(text, len(text))
        self._newest.keep(text, first_line)
        return [*out, *newest.values()]

    def _remember(self, shape: bytes, among: set[bytes]) -> None:
        """Lines of this shape say nothing, whatever their digits are."""
        if len(shape) < _DULL_LENGTH and self._shape_looks.search(shape) is None:
            if len(among) >= _DULL_SHAPES:
                among.clear()
            among.add(shape)

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

    def _add(self, step: int, cells: Mapping[str, object]) -> None:
        self._add_cut()
        self._rows.add(step, cells)
        self._step = step

    def _follows(self) -> bool:
        """Whether lines matter now that would not matter by themselves."""
        if self._config.is_open or self._step_block or self._notes.in_traceback:
            return True
        if self._learner is not None and self._learner.is_open:
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
        speaks = following or (shape not in self._bars and self._looks.search(segment, 0, _SCAN_LIMIT) is not None)
        barred = b"%|" in segment
        if not speaks and not barred and b"'epoch'" not in segment:
            return not behind and self._learn(segment, shape, newest)
        segment = segment[:_SCAN_LIMIT]
        painted = bar(segment) if barred else None
        if painted is not None:
            if self._learner is not None:
                self._take_postfix(painted, segment)
            self._paint(painted, text, at, newest)
            glued = behind_bar(segment)
            if glued and shape not in self._bars and (speaks or b"'epoch'" in glued):
                # a buffered output writes its lines right behind the bar
                at += len(segment) - len(glued)
                if not self._segment(glued, glued.translate(None, _DIGITS), text, at, out, newest, behind=True):
                    self._remember(shape, self._bars)
                return True
            if not speaks:
                self._remember(shape, self._bars)
                return True
        elif b"'epoch'" in segment and (line := trl_console.cells(segment)) is not None:
            if "train_runtime" in line:
                out.append(Note("end", clean(segment.decode("utf-8", "replace"), 500), self._line, self._step))
            else:
                self._found_dialect()
                stated = trl_console.stated_step(line)
                if stated is not None:
                    self._add(stated[0], line)
                    self._report(newest, *stated)
                    return True
                for step, known in self._stepper.place(line, self._blank_before(text, at)):
                    self._add(step, known)
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
        counted = self._rounds.line(message, self._step)
        if counted is not None:
            self._add_cut()
            self._rows.add(*counted)
            return True
        if self._generic and painted is None:
            message = plain(message)
            found = self._dialect_line(prefix, message, newest)
            if not found and not behind and self._learner is not None and self._learner.knows_steps:
                found = self._learn(segment, shape, newest)
            matters = found or self._generic_line(prefix, message, newest) or matters
            if not matters and not behind:
                matters = self._learn(segment, shape, newest)
        return bool(painted or notes or matters or following or self._follows())

    def _paint(self, painted: ProgressBar, text: bytes, at: int, newest: dict[str, Note]) -> None:
        for step, cells in self._stepper.paint(painted, self._blank_before(text, at)):
            self._add(step, cells)
        trains = not painted.nested and painted.name in TRAINING
        if trains and painted.total == (self._stepper.total or painted.total):
            self._report(newest, painted.done, painted.total)
        elif painted.total and painted != self._other_bar:
            self._other_bar = painted  # a validation or a rollout under way
            done = f"{painted.name or 'other work'}: {painted.done} of {painted.total}"
            newest["phase"] = Note("phase", clean(done, 200), self._line)

    # -- dialects --------------------------------------------------------------------------------------------------

    def _found_dialect(self) -> None:
        if self._generic:
            self._close_step_block()
            self._generic = self._before_steps = False
            self._learner = None
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
                    if step.total is not None:
                        self._report(newest, step.step, step.total)
                return True
        return False

    def _generic_line(self, prefix: str, message: str, newest: dict[str, Note]) -> bool:
        logged = generic_console.dict_line(message) if "{" in message else None
        if logged is not None:
            self._add(*logged)
            return True
        if len(message) > _PROSE:
            return False
        begun = generic_console.step_line(message)
        block = self._step_block
        if begun is None:
            if block is not None:
                block.lines += 1
                if block.lines > generic_console.MAX_BLOCK:
                    self._close_step_block()
                elif not prefix:
                    block.take(generic_console.attributes(message))
            return False
        if block is not None and block.step == begun.step:
            block.cells.update(begun.cells)
            block.lines = 0
            return True
        self._close_step_block()
        self._step_block, self._step = begun, begun.step
        if begun.total is not None:
            self._report(newest, begun.step, begun.total)
        return True

    def _learn(self, segment: bytes, shape: bytes, newest: dict[str, Note]) -> bool:
        """A line that no dialect knows: step lines of any wording are known by how they recur. Returns whether it told
        of a step."""
        learner = self._learner
        if learner is None or len(segment) > _PROSE or (shape in self._never and not learner.is_open):
            return False
        if len(shape) == len(segment):
            learner.close_block()
            return False
        if self._step is not None and not learner.knows_steps:
            self._learner = None  # a dialect tells the steps
            return False
        prefix, message = split_prefix(segment.decode("utf-8", "replace"))
        if "Worker" in prefix:
            return False  # one of many processes, each with a count of its own
        rows = learner.line(plain(message).strip())
        if rows is None:
            if len(self._never) >= _DULL_SHAPES:
                self._never.clear()
            self._never.add(shape)
            return False
        for row in rows:
            self._close_step_block()
            self._add(row.step, row.cells)
            if row.total is not None:
                self._report(newest, row.step, row.total)
        return bool(rows)

    def _take_postfix(self, painted: ProgressBar, segment: bytes) -> None:
        """Numbers behind a bar of training belong to the step that it shows; the last ones painted there count."""
        known = not painted.name or painted.name in TRAINING or trains(painted.name)
        if painted.nested or not known or (self._step is not None and self._behind_bar is None):
            return  # another work's bar, or one within steps that are stated otherwise
        cells = postfix(segment.decode("utf-8", "replace"))
        if not cells:
            return
        if self._behind_bar is not None and self._behind_bar[0] != painted.done:
            self._add(*self._behind_bar)
        self._behind_bar = painted.done, cells

    def _close_step_block(self) -> None:
        block, self._step_block = self._step_block, None
        if block is not None and block.cells:
            self._add_cut()
            self._rows.add(block.step, block.cells)

    # -- small parts -----------------------------------------------------------------------------------------------

    def _set_looks(self) -> None:
        """What is searched for in each line beside progress bars. Rare first letters cost: the search stops at each."""
        own = {mark.encode() for dialect in self._dialects for mark in dialect.marks}
        marks = [
            *CONFIG_MARKS,
            *InvalidRounds.marks,
            *(text.encode() for text in triggers()),
            *(_STEP_MARKS if self._generic else ()),
            *sorted(own),
        ]
        self._dull.clear()
        self._bars.clear()
        looks = list(map(_escaped, marks))
        self._looks = re.compile(b"|".join([*looks, YAML_MARK] if self._before_steps else looks))
        counted = [mark for mark in marks if mark.translate(None, _DIGITS) != mark]  # their shape alone tells nothing
        self._shape_looks = re.compile(b"|".join(_escaped(mark.translate(None, _DIGITS)) for mark in counted))

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

    def _skip(self, reason: str, line: int) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, f"line {line}")

    def _unwrapped(self, data: bytes) -> bytes:
        """The text within the JSON lines of a wrapped log."""
        out = []
        for line in self._wrapped.feed(data).splitlines():
            text = text_of(line)
            if text is not None:
                out.append(text)
            elif line.strip(b"[]\r\n "):
                self._skip("line that is not JSON in a log of JSON lines", self._line)
        return b"".join(out)
