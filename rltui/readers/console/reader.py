"""Console logs: one reader that knows several dialects and takes each line as it comes.

A log names its trainer late, after pages of start-up messages, and may hold the output of several programs. So the
dialect is not chosen beforehand. verl's step lines are cut out first, many at once. Of the other lines only those with
one of a few marks are looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection
from typing import ParamSpec

from msgspec.structs import replace

from rltui.readers.base import ConfigRecord, Hint, LeftOut, Note, Record, Recurring, Rows
from rltui.readers.console import line_pattern, trl
from rltui.readers.console.bar_rows import BarRows
from rltui.readers.console.config import YAML_LINES, ConfigFinder
from rltui.readers.console.dialects import Dialects
from rltui.readers.console.evaluations import EvaluationsBeside
from rltui.readers.console.foretelling import Foretelling
from rltui.readers.console.invalid_rounds import InvalidRounds
from rltui.readers.console.joined_lines import Joined, JoinedLines, may_be_joined
from rltui.readers.console.known_bars import BarsInTurn, KnownBars
from rltui.readers.console.lead import plain
from rltui.readers.console.line_filter import SCAN_LIMIT, LineFilter, shape_of
from rltui.readers.console.log_records import LinePace, LogNews, LogRows, NewestLines
from rltui.readers.console.notes import TOLD_ONCE, NoteFinder, OpenTracebacks, split_prefix
from rltui.readers.console.own_words import OwnWords
from rltui.readers.console.planned_steps import plan_at_end
from rltui.readers.console.printed_list import Printed
from rltui.readers.console.printed_rows import holds_mark, may_hold_mark
from rltui.readers.console.progress_bar import Blanks, ProgressBar, bar, bar_after, behind_bar, may_be_bar
from rltui.readers.console.quiet_lines import FEW, QuietLines
from rltui.readers.console.row_intake import RowIntake
from rltui.readers.console.settled_lines import SettledLines
from rltui.readers.console.step_template import StepRow
from rltui.readers.console.trl import Stepper
from rltui.readers.console.untaken import UnreadLines, UntakenLines
from rltui.readers.console.wrapped import Unwrapper
from rltui.readers.document_rows import records, training_steps
from rltui.readers.lines import TOO_LONG, LineBuffer
from rltui.readers.western import as_utf8

LAUNCHES = frozenset(("start", "resume", "end", "traceback", "oom", "killed"))
"""Notes after which a bar that begins again is of another launch, not of another epoch."""
FULL_BLOCK = 1_000_000
"""A read of this many bytes is one of many through a long file: its plain lines are given out only with the last
one."""


P = ParamSpec("P")
FAILED = "lines on which rltui failed"


class ConsoleReader(Foretelling):
    """Reads a console log of any dialect. `format`: the dialect that its first lines showed. It is only a name: a log
    that is followed may show another one in its first piece than in its first 64 KiB."""

    whole = False
    stops_at_faults = False
    """Set by tests, so that no fault of a reader stays hidden."""

    def __init__(self, format: str = "console", above: int = 0) -> None:
        """`above`: the number of lines above its first."""
        super().__init__()
        self.format = format
        self.gives_lines = True  # plain lines for the log pane; False saves the time to clean them
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._buffer = LineBuffer(carriage_returns=True)
        self._unwrapper = Unwrapper()
        self._rows = LogRows(self.skipped, self.skipped_at)
        self._news = LogNews()
        self._untaken = UntakenLines()
        self._intake = RowIntake(self._rows, self._news, self._untaken, self.skipped, self.skipped_at)
        self._notes = NoteFinder(self._rows.clock)
        self._rounds = InvalidRounds()
        self._bars = BarRows(self._rows, self._news, self._intake.skip)
        self._patterns = line_pattern.PatternLines(used, self._rows.clock) if (used := line_pattern.in_use()) else None
        self._unread: UnreadLines | None = UnreadLines()  # None: a row came
        own = self._patterns is None
        self._own = OwnWords(self._rows.clock, self._skip_here, self._bars.newest, self._names) if own else None
        self._evaluations = EvaluationsBeside()  # asked only if `_own` is None
        self._dialects = Dialects()  # asked only while `_own` is not None
        self._config = ConfigFinder()
        self._before_steps = self._own is not None  # printed YAML may come
        self._line = above + 1  # number of the line that the next byte belongs to
        self._blanks = Blanks()
        self._filter = LineFilter()
        self._known_bars = KnownBars()
        self._settled = SettledLines()
        self._joined = JoinedLines()
        self._newest = NewestLines()
        self._took = False  # something was taken from the line
        self.torn_line = 0  # the newest line that was read without its end
        self._notes_ahead: OpenTracebacks | None = None  # with that line
        if self._own is None and self._patterns is None:
            self._untaken.settle()
        self._set_looks()

    @property
    def step(self) -> int | None:
        """The newest step."""
        return self._rows.step

    @property
    def row_line(self) -> int:
        """Number of the line with which the newest row was known; 0 for none."""
        return self._rows.pace.newest

    @property
    def pace(self) -> LinePace:
        """With which lines rows were known."""
        return self._rows.pace

    @property
    def counted(self) -> bool:
        """Whether rows are counted, as nothing tells their steps."""
        return any(lines is not None and lines.counts for lines in (self._bars, self._own, self._patterns))

    @property
    def guesses_steps(self) -> bool:
        """Whether a line without a step got one that may be wrong."""
        return self._bars.guessed

    def left_out(self) -> list[LeftOut]:
        """The lines from which nothing was taken."""
        return [*self._joined.left_out(self._rows.names), *self._untaken.told()]

    def recurring(self) -> list[Recurring]:
        """Those of them that recur and hold named numbers, the most frequent first."""
        return self._untaken.recurring()

    def _feed(self, data: bytes) -> list[Record]:
        if b"\0" in data:
            data = data.replace(b"\0", b"")  # a log that was truncated while its writer went on has zero bytes
        return self._take_text(self._unwrapper.feed(data), len(data))

    def _take_text(self, text: bytes, size: int) -> list[Record]:
        """Reads the text of the log. `size`: how many bytes of the file it came from."""
        block = self._buffer.feed(text)
        self._intake.skip("line that is not JSON in a log of JSON lines", self._line, self._unwrapper.foreign)
        for before in [*self._buffer.too_long, *(0 for _ in range(self._unwrapper.too_long))]:
            self._intake.skip(TOO_LONG, self._line + before)
        if block:
            whole = self._buffer.peeked_whole
            self._blanks.go_on(whole)
            self._joined.go_on(whole)
            if whole and self._notes_ahead is not None:
                self._notes.go_back(self._notes_ahead)
            self._notes_ahead = None
            waiting = self._intake.go_on(whole, self._line)
            self._untaken.forget_open(but=self._line if whole and not self._joined.is_open else 0)
            if self._own is not None:
                waiting = [*self._own.go_on(whole), *waiting]
                self._dialects.was_whole(whole)
            self._tell(waiting)
        out = self._read(block) if block else []
        if self.gives_lines and size < FULL_BLOCK:
            out += self._newest.take()
        return out

    def _finish(self) -> list[Record]:
        opened = self._take_text(held, len(held)) if (held := self._unwrapper.finish()) else []
        rest = self._buffer.peek()
        line, standing = self._line, self._notes.standing() if rest else {}
        if self._own is not None:
            self._tell(self._own.settle(over=True), plans=True)
        told = self._read_open(rest)
        self._line = line  # the line is not over
        self._bars.so_far(self._line, over=True)
        told += self._news.take()
        ends = [note._replace(laps=self._rows.laps) for note in self._notes.finish(line, self._rows.step)]
        if rest:
            self._notes_ahead = self._notes.standing()
            self._notes.go_back(standing)
        out = [*opened, *told, *self._config.finish(), *ends, *self._take_rows(), *self._newest.take()]
        return out if self._unread is None else [*out, Hint(self._unread.hint())]

    def _rest(self) -> list[Record]:
        if self._own is not None and self._own.learns:
            self._bars.take_newest(self._buffer.rest, self._line)
        self._read_open(b"", over=False)
        self._bars.so_far(self._line)
        rows = [*self._news.take(), *self._take_rows()]
        return rows if self._unread is None or self._unread.hint() == "" else [*rows, Hint(self._unread.told)]

    def _read_open(self, rest: bytes, over: bool = True) -> list[Record]:
        """Reads what may go on as if nothing followed: the beginning of a line, lines that are held back, and the steps
        that they belong to. Afterwards the state is as before. `over`: the log ends here."""
        held = self._joined.first_held
        self._filter.learns = False
        self.torn_line = self._line if rest else self.torn_line
        self._rows.foretells = self._news.foretells = True
        self._rows.look_ahead()
        if rest or held:
            self._untaken.forget_open()  # these lines are read again
        self._untaken.open_line = held or (self._line if rest else 0)
        if rest:
            self._blanks.look_ahead()
            self._joined.look_ahead()
        own = self._own if rest or held else None
        if own is not None:
            own.look_ahead()
            self._dialects.look_ahead()
        self._intake.begin(rest)
        told = self._read(rest) if rest else []
        if own is not None:
            own.look_further(torn=bool(rest))
            self._dialects.look_further(torn=bool(rest))
        self._take_joined(self._joined.finish(self._rows.names))
        self._untaken.open_line = 0
        self._bars.settle(over)
        if self._own is not None:
            self._intake.add_steps(self._dialects.look_back(), self._line)
            self._tell(self._own.look_back())
        self._intake.look_back(self._line)
        self._filter.learns = True
        self._intake.end()
        self._rows.foretells = self._news.foretells = False
        return told

    @property
    def waits(self) -> bool:
        return self._bars.waits or super().waits

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _read(self, block: bytes) -> list[Record]:
        text = self._rows.cut(as_utf8(block))
        first = self._line
        self._scan(text)
        self._reach(len(text))
        self._rows.paced(text, first)
        return [*self._news.take(), *self._take_rows()]

    def _take_rows(self) -> list[Record]:
        rows = self._rows.take(self.counted)
        for one in rows:
            if isinstance(one, Rows):
                one.unplaced = self._bars.unplaced
        if self._unread is not None and self._rows.came:
            rows = [Hint(""), *rows] if self._unread.told else rows
            self._unread = None  # no line needs to be suggested any more
        return rows

    def _scan(self, text: bytes) -> None:
        """Reads everything except verl's step lines."""
        first_line = self._line
        block = QuietLines(text, self._filter)
        follows, joining = self._follows(), self._joined.is_open
        learns = self._own is not None and self._filter.learns and len(block.lines) > FEW and self._settled.learns
        self._settled.line *= learns
        above, i = b"", 0
        while i < len(block.lines):
            if self._is_quiet(follows or joining):
                quiet = self._pass_by(block, i, block.until(i), text, first_line)
                if quiet > i:
                    self._settled.line = 0
                    above, i = block.newest(i, quiet) or above, quiet
                    continue
            if self._settled.line and not joining and (settled := self._pass_settled(block, i, first_line)) > i:
                above, i = block.newest(i, settled) or above, settled
                continue
            line, form, at = block.lines[i], block.forms[i], block.start(i)
            if learns and self._own is not None:
                self._own.reading = None
            self._line = first_line + i
            for segment in line.split(b"\r") if b"\r" in line else (line,):
                shape = form if segment is line else shape_of(segment)
                end = at + len(segment)
                repainted = segment is not line and self._is_quiet(follows or joining)
                if repainted and self._paint_known(segment, shape, text, at):
                    above, at = segment, end + 1
                    continue
                marked = holds_mark(text, at, end)
                self._took = False
                if self._patterns is not None and self._by_pattern(self._patterns, segment, at):
                    self._took = True
                elif (marked or joining or may_be_joined(segment)) and self._joined.wants(segment, above, marked):
                    self._reach(at)
                    blank = self._blanks.before(text, at)
                    self._take_joined(self._joined.take(segment, self._line, blank, self._rows.names))
                    self._took = True  # if it was given back, it is counted there
                    follows, joining = self._follows(), self._joined.is_open
                elif shape and (follows or shape not in self._filter.dull):
                    self._reach(at)
                    if not self._safely(self._segment, segment, shape, text, at):
                        self._filter.forget(shape, self._filter.dull)
                    follows, joining = self._follows(), self._joined.is_open
                elif shape and self._own is not None and self._own.learns:
                    self._took = self._is_by_bar(segment)
                    if not self._took:
                        self._safely(self._any_line, self._own, segment, shape)
                    follows = self._own.is_open
                if shape and not self._took:
                    self._untaken.add(shape, segment, self._line)
                above = segment or above
                at = end + 1
                if marked:
                    self._joined.pass_by(segment, self._line)
            if form and learns and self._own is not None:
                self._settled.learn(None if joining else self._own.reading, line, form, self._line)
            i += 1
        self._line = first_line + len(block.lines) - 1
        self._joined.end(above)
        self._blanks.after = self._blanks.before(text, len(text))
        if self.gives_lines:
            self._newest.keep(text, first_line)
        if self._unread is not None:
            self._unread.keep(text, first_line)

    def _pass_by(self, block: QuietLines, begin: int, end: int, text: bytes, first_line: int) -> int:
        """Passes by lines of forms that are known: bars are painted, and the others only counted. Returns the first
        line that must be looked at."""
        bars = block.bars(begin, end)
        if bars and not self._paints_at_once:
            bars, end = [], bars[0]
        in_turn = BarsInTurn(lambda painted, line: self._safely(self._paint, painted, line))
        for i in bars:
            waits = self._own is not None and self._rows.waits(block.start(i))
            painted = None if waits else self._known_bars.read(block.lines[i])
            if painted is None:
                end = i
                break
            self._rows.pace.at = self._line = first_line + i
            if Stepper.looks_at(painted):
                in_turn.end()
                self._reach(at := block.start(i))
                self._safely(self._paint, painted, self._line, text, at)
            else:
                in_turn.take(painted, self._line)
        in_turn.end()
        if begin < end:
            block.count(self._untaken, begin, end, first_line)
        return end

    def _pass_settled(self, block: QuietLines, i: int, first_line: int) -> int:
        """Takes lines of a form that is settled. Returns the first line that must be read word by word."""
        if self._own is None or not self._is_calm:
            return i

        def take(line: int, rows: Callable[[], list[StepRow]]) -> None:
            self._line = self._rows.pace.at = line
            self._tell(rows(), plans=True)

        end = i + bisect_left(range(i, len(block.lines)), True, key=lambda at: self._rows.waits(block.start(at)))
        return self._settled.take(self._own, block.lines, range(i, end), first_line, take)

    @property
    def _is_calm(self) -> bool:
        """Whether nothing is expected that the next line may be."""
        odd = self._before_steps or self._config.is_open or self._notes.in_traceback or self._dialects.is_open
        return not (odd or self._news.expects or self._rows.in_doubt or self._rows.step is None)

    def _paint_known(self, segment: bytes, shape: bytes, text: bytes, at: int) -> bool:
        """Paints a known bar that is not alone on its line. False if there is none."""
        if shape not in self._filter.bars or may_hold_mark(shape) or not self._paints_at_once:
            return False
        if (self._own is not None and self._rows.waits(at)) or (painted := self._known_bars.read(segment)) is None:
            return False
        self._rows.pace.at = self._line
        self._reach(at)
        return self._safely(self._paint, painted, self._line, text, at)

    @property
    def _paints_at_once(self) -> bool:
        """Whether nothing else is to be told of a known bar but what it shows."""
        return self._filter.learns and not self._before_steps and not self._news.expects

    def _paint(self, painted: ProgressBar, line: int, text: bytes = b"", at: int = 0) -> bool:
        self._bars.paint(painted, lambda: self._blanks.before(text, at), line)
        return True

    def _take_joined(self, found: list[Joined]) -> None:
        """Adds the rows of printed lists, and reads the lines that are complete by now, each with its own number."""
        here, now = self._blanks.after, self._line
        for one in found:
            if isinstance(one, Printed):
                self._add_printed(one)
                continue
            self._took, shape = False, shape_of(one.text)
            self._line, self._blanks.after = one.number, one.after_blank
            if not one.dull:
                self._safely(self._segment, one.text, shape, one.text, 0)
            if shape and not self._took:
                self._untaken.add(shape, one.text, self._line)
            self._blanks.after, self._line = here, now

    def _add_printed(self, printed: Printed) -> None:
        """Adds rows that were printed all at once, after those that are held back, as they may repeat these."""
        self._bars.settle()
        if self._own is not None:
            self._intake.add_steps(self._dialects.close(), self._line)
            self._tell([*self._own.settle(), *self._own.close()])
        self._bars.know(training_steps(printed.held.rows))
        read = records(printed.held, f"printed at line {printed.line}")
        for reason, count in read.skipped.items():
            self._intake.skip(reason, printed.line, count)
        self._news.add(record for record in read.records if isinstance(record, Note | ConfigRecord))
        self._rows.give(read.records, f"line {printed.line}")

    def _reach(self, at: int) -> None:
        """Passes verl's step lines before a place of the text, as the log is read up to there."""
        if self._rows.waits(at):
            self._found_dialect()
            self._rows.reach(at)
            self._news.at(self._rows.step)

    def _is_quiet(self, follows: bool) -> bool:
        """Whether a line of a form that told nothing before also tells nothing now."""
        return not follows and self._patterns is None and (self._own is None or not self._own.learns)

    def _follows(self) -> bool:
        """Whether the next lines may matter even if they have no marks."""
        if self._config.is_open or self._notes.in_traceback:
            return True
        return self._own is not None and (self._own.is_open or self._dialects.is_open)

    # -- lines -----------------------------------------------------------------------------------------------------

    def _safely(self, read: Callable[P, bool], *args: P.args, **named: P.kwargs) -> bool:
        """Reads a line. One on which the reader fails is left out and counted: it costs itself, and not all rows."""
        try:
            return read(*args, **named)
        except Exception as error:
            if self.stops_at_faults:
                raise
            self._intake.skip(f"{FAILED} ({type(error).__name__})", self._line)
            return True

    def _segment(self, segment: bytes, shape: bytes, text: bytes, at: int, behind: bool = False) -> bool:
        """Reads one line or printed bar, at a place of the text. `behind`: it follows a bar on its line. Returns
        whether a line of this shape can matter."""
        self._rows.pace.at = self._line
        if self._before_steps and (self._rows.step is not None or self._line > YAML_LINES):
            self._before_steps = False
            self._set_looks()
        while cut := trl.first_of_several(segment):
            first, segment = segment[:cut], segment[cut:]
            self._segment(first, shape_of(first), text, at, behind)
            at, shape = at + cut, shape_of(segment)
        following = self._follows()
        speaks = following or (shape not in self._filter.bars and self._filter.speaks(segment))
        barred = may_be_bar(segment)
        if barred and not behind and (cut := bar_after(segment)):
            first, rest = segment[:cut], segment[cut:]
            self._segment(first, shape_of(first), text, at)
            return self._segment(rest, shape_of(rest), text, at + cut, behind=True)
        if self._intake.torn and barred and segment.rfind(b"[") > segment.rfind(b"]"):
            return False  # its numbers are still being written
        if not barred and b"'epoch'" not in segment and self._is_by_bar(segment):
            self._took = True
            return True
        if not speaks and not barred and b"'epoch'" not in segment:
            return not behind and self._any_line(self._own, segment, shape)
        whole, segment = segment, segment[:SCAN_LIMIT]
        painted = bar(segment) if barred else None
        if painted is not None:
            self._took = True
            if self._own is not None and self._own.learns:
                self._bars.take_numbers(painted, segment, self._line)
            self._bars.paint(painted, lambda: self._blanks.before(text, at), self._line)
            glued = behind_bar(segment)
            listed = b""
            if glued and not self._rows.foretells:  # while foretelling, it was held back already
                listed = glued if whole is segment else behind_bar(whole)
            if listed and self._joined.wants(listed, b"", marked=True):
                self._take_joined(self._joined.take(listed, self._line, False, self._rows.names))
                self._took = True
                return True
            if glued and shape not in self._filter.bars and (speaks or b"'epoch'" in glued):
                # buffered output writes its lines right after the bar
                at += len(segment) - len(glued)
                if not self._segment(glued, shape_of(glued), text, at, behind=True):
                    self._filter.forget(shape, self._filter.bars)
                return True
            if not speaks:
                self._filter.forget(shape, self._filter.bars)
                self._known_bars.learn(segment, painted)
                return True
        elif b"'epoch'" in segment and (line := trl.cells(segment)) is not None:
            self._took = True
            self._logged(*line, segment, text, at)
            return True
        matters = self._words(segment, shape, painted is not None, behind)
        return matters or painted is not None or following or self._follows()

    def _logged(self, line: dict[str, str], begin: int, segment: bytes, text: bytes, at: int) -> None:
        """Reads a dict line of TRL or the HF Trainer, which begins at place `begin` of the segment."""
        if "train_runtime" in line:
            self._bars.plan(plan_at_end(line))
            self._news.end(segment, self._line, self._rows.step, self._rows.laps)
            return
        self._found_dialect()
        self._bars.logged(line, self._blanks.before(text, at), self._line, self._rows.clock.before(segment, begin))

    def _words(self, segment: bytes, shape: bytes, painted: bool, behind: bool) -> bool:
        """Reads a line with one of the marks or after one, or a `painted` bar with a mark. Returns whether it was of
        use."""
        step = self._rows.step
        decoded = segment.decode("utf-8", "replace")
        notes = self._notes.line(decoded, self._line, step, self._bars.done, self._bars.unplaced)
        if self._line == self.torn_line:  # the notes of the complete line replace those of its beginning
            notes = [note._replace(begun=note.begun or self._line) for note in notes]
        notes = [note._replace(laps=self._rows.laps, rows=self._bars.unplaced) for note in notes]
        prefix, message = split_prefix(decoded)
        configs = self._config.line(prefix, message, self._line, step is None, self._before_steps)
        self._news.add([*notes, *(config._replace(after=step) for config in configs)])
        if self._notes.ungraded is not None:
            self._news.add([self._notes.ungraded])
        for config in configs:
            self._bars.hear(config.values)
        if any(note.kind in LAUNCHES for note in notes):
            self._bars.launched()
        if any(note.kind == "resume" for note in notes):
            self._rows.resumed()
            self._news.resumed(step)
        matters = bool(notes or configs) or self._notes.fails
        heard = matters
        if self._line != self.torn_line and any(note.kind in TOLD_ONCE for note in notes):
            self._untaken.note(shape)
        self._took |= matters or self._config.is_open or self._notes.in_traceback
        counted = self._rounds.line(message, step)
        if counted is not None:
            self._took = True
            self._rows.add_aside(*counted)
            return True
        if self._own is None and not painted:
            matters |= self._evaluated(segment)
        elif self._own is not None and not painted:
            message = plain(message)
            if any(note.kind == "resume" for note in notes):
                self._own.resume()
            elif self._dialect_line(self._own, prefix, message):
                self._own.other()
                matters = self._took = True
            else:
                self._own.at = self._line
                rows, found = self._own.named(message, shape, prefix, None if self._rows.in_doubt else step, behind)
                self._tell(rows, plans=True)
                matters |= found
                self._took |= self._own.belongs
                self._own.reading = None if heard else self._own.reading
        if not matters and step is not None and not self._rows.foretells:
            self._news.expect(self._config.in_a_line(message, self._line), step)
        return matters

    def _found_dialect(self) -> None:
        if self._own is not None:
            self._tell(self._own.close())
            self._own, self._before_steps = None, False
            self._untaken.settle()
            self._set_looks()

    def _dialect_line(self, own: OwnWords, prefix: str, message: str) -> bool:
        """Reads a line of one of the dialects. False if none of them knows it."""
        done = self._dialects.line(prefix, message, self._rows.clock, self._line)
        if done:
            at = None if self._rows.in_doubt else self._rows.step
            done = [placed for step in done if (placed := step.at_newest(at)) is not None]
            if not all(step.beside or own.is_at(step.step) for step in done):
                own.stop()
            if any(step.beside for step in done):
                self._tell(own.close())  # before the names of these are known: an open end gives no new names
            self._intake.add_steps(done, self._line, plans=True)
        return done is not None

    def _any_line(self, own: OwnWords | None, segment: bytes, shape: bytes) -> bool:
        """Reads a line without a mark: it may be a step line in its own words. Returns whether it gave a row."""
        if own is None:
            return self._evaluated(segment)
        prefix, message = split_prefix(segment.decode("utf-8", "replace"))
        own.at = self._line
        rows = own.line(plain(message), shape, prefix)
        self._tell(rows, plans=True)
        return bool(rows)

    def _is_by_bar(self, segment: bytes) -> bool:
        """Whether a line is a row of the step that the bar above it counts: a dict, or pairs that are below no step."""
        if b"{" in segment:
            return self._bars.take_line(segment)
        return self._own is not None and not self._own.is_below_step and self._bars.take_line(segment)

    def _evaluated(self, segment: bytes) -> bool:
        """Reads a line beside the rows of verl or TRL, if it reports an evaluation. True if so."""
        if self._patterns is not None:
            return False
        told = self._evaluations.line(segment.decode("utf-8", "replace"), self._bars.newest(), self._news.planned)
        if told is not None:
            row, before = told
            rows = [replace(row, lines=(self._line,), time=self._rows.clock.of(before))]
            self._tell(rows)
        return told is not None

    def _tell(self, rows: list[StepRow], *, plans: bool = False) -> None:
        rows = rows if self._own is None else self._own.with_scores_before(rows)
        if any(row.cells and not row.aside for row in rows):
            self._bars.end()
        self._took |= self._intake.tell(rows, self._line, plans=plans)
        self._news.at(self._rows.step)

    def _by_pattern(self, patterns: line_pattern.PatternLines, segment: bytes, at: int) -> bool:
        """Reads a line by the user's patterns. True if one of them matches."""
        self._reach(at)
        rows = patterns.line(plain(segment[:SCAN_LIMIT].decode("utf-8", "replace")), self._rows.step)
        self._tell(rows or [], plans=True)
        return rows is not None

    def _set_looks(self) -> None:
        known = self._own is None
        self._filter.look_for([] if known else self._dialects.marks, not known, self._before_steps)

    def _names(self) -> Collection[str]:
        return self._rows.names

    def _skip_here(self, reason: str) -> None:
        self._intake.skip_when_whole(reason, self._line)
