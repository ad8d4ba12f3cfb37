"""Console logs: one reader that knows several dialects and takes each line as it comes.

A log names its trainer late, after pages of start-up messages, and may hold the output of several programs. So the
dialect is not chosen beforehand. verl's step lines are cut out first, many at once. Of the other lines only those with
one of a few marks are looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable

from rltui.readers.base import Hint, LeftOut, Record, Recurring, Rows
from rltui.readers.console.foretelling import Foretelling
from rltui.readers.console.joined_lines import may_be_joined
from rltui.readers.console.known_bars import BarsInTurn
from rltui.readers.console.line_filter import shape_of
from rltui.readers.console.log_lines import LogLines
from rltui.readers.console.log_records import LinePace, NewestLines
from rltui.readers.console.notes import OpenTracebacks
from rltui.readers.console.printed_rows import holds_mark, may_hold_mark
from rltui.readers.console.progress_bar import ProgressBar
from rltui.readers.console.quiet_lines import FEW, QuietLines
from rltui.readers.console.settled_lines import SettledLines
from rltui.readers.console.step_template import StepRow
from rltui.readers.console.trl import Stepper
from rltui.readers.console.untaken import UnreadLines
from rltui.readers.console.wrapped import Unwrapper
from rltui.readers.lines import TOO_LONG, LineBuffer
from rltui.readers.western import as_utf8

FULL_BLOCK = 1_000_000
"""A read of this many bytes is one of many through a long file: its plain lines are given out only with the last
one."""


class ConsoleReader(Foretelling):
    """Reads a console log of any dialect. `format`: the dialect that its first lines showed. It is only a name: a log
    that is followed may show another one in its first piece than in its first 64 KiB."""

    whole = False

    def __init__(self, format: str = "console", above: int = 0) -> None:
        """`above`: the number of lines above its first."""
        super().__init__()
        self.format = format
        self.gives_lines = True  # plain lines for the log pane; False saves the time to clean them
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._buffer = LineBuffer(carriage_returns=True)
        self._unwrapper = Unwrapper()
        self._unread: UnreadLines | None = UnreadLines()  # None: a row came, too
        self._lines = LogLines(self.skipped, self.skipped_at, above)
        self._settled = SettledLines()
        self._newest = NewestLines()
        self._notes_ahead: OpenTracebacks | None = None  # with the line that was read without its end

    def only_rows(self) -> None:
        self.gives_lines, self._unread = False, None

    @property
    def torn_line(self) -> int:
        """Number of the newest line that was read without its end."""
        return self._lines.torn_line

    @torn_line.setter
    def torn_line(self, line: int) -> None:
        self._lines.torn_line = line

    @property
    def step(self) -> int | None:
        """The newest step."""
        return self._lines.rows.step

    @property
    def laps(self) -> int:
        """How often the steps went back."""
        return self._lines.rows.laps

    @property
    def row_line(self) -> int:
        """Number of the line with which the newest row was known; 0 for none."""
        return self._lines.rows.pace.newest

    @property
    def pace(self) -> LinePace:
        """With which lines rows were known."""
        return self._lines.rows.pace

    @property
    def counted(self) -> bool:
        """Whether rows are counted, as nothing tells their steps."""
        return any(
            lines is not None and lines.counts for lines in (self._lines.bars, self._lines.own, self._lines.patterns)
        )

    @property
    def guesses_steps(self) -> bool:
        """Whether a line without a step got one that may be wrong."""
        return self._lines.bars.guessed

    def left_out(self) -> list[LeftOut]:
        """The lines from which nothing was taken."""
        return [*self._lines.joined.left_out(self._lines.rows.names), *self._lines.untaken.told()]

    def recurring(self) -> list[Recurring]:
        """Those of them that recur and hold named numbers, the most frequent first."""
        return self._lines.untaken.recurring()

    def _feed(self, data: bytes) -> list[Record]:
        if b"\0" in data:
            data = data.replace(b"\0", b"")  # a log that was truncated while its writer went on has zero bytes
        return self._take_text(self._unwrapper.feed(data), len(data))

    def _take_text(self, text: bytes, size: int) -> list[Record]:
        """Reads the text of the log. `size`: how many bytes of the file it came from."""
        lines = self._lines
        block = self._buffer.feed(text)
        lines.intake.skip("line that is not JSON in a log of JSON lines", lines.at, self._unwrapper.foreign)
        for before in [*self._buffer.too_long, *(0 for _ in range(self._unwrapper.too_long))]:
            lines.intake.skip(TOO_LONG, lines.at + before)
        if block:
            whole = self._buffer.peeked_whole
            lines.blanks.go_on(whole)
            lines.joined.go_on(whole)
            if whole and self._notes_ahead is not None:
                lines.notes.go_back(self._notes_ahead)
            self._notes_ahead = None
            waiting = lines.intake.go_on(whole, lines.at)
            lines.untaken.forget_open(but=lines.at if whole and not lines.joined.is_open else 0)
            if lines.own is not None:
                waiting = [*lines.own.go_on(whole), *waiting]
                lines.dialects.was_whole(whole)
            lines.tell(waiting)
        out = self._read(block) if block else []
        if self.gives_lines and size < FULL_BLOCK:
            out += self._newest.take()
        return out

    def _finish(self) -> list[Record]:
        lines = self._lines
        opened = self._take_text(held, len(held)) if (held := self._unwrapper.finish()) else []
        rest = self._buffer.peek()
        line, standing = lines.at, lines.notes.standing() if rest else {}
        if lines.own is not None:
            lines.tell(lines.own.settle(over=True), plans=True)
        told = self._read_open(rest)
        lines.at = line  # the line is not over
        lines.bars.so_far(lines.at, over=True)
        told += lines.news.take()
        ends = [note._replace(laps=lines.rows.laps) for note in lines.notes.finish(line, lines.rows.step)]
        if rest:
            self._notes_ahead = lines.notes.standing()
            lines.notes.go_back(standing)
        out = [*opened, *told, *lines.config.finish(), *ends, *self._take_rows(), *self._newest.take()]
        return out if self._unread is None else [*out, Hint(self._unread.hint())]

    def _rest(self) -> list[Record]:
        lines = self._lines
        if lines.own is not None and lines.own.learns:
            lines.bars.take_newest(self._buffer.rest, lines.at)
        self._read_open(b"", over=False)
        lines.bars.so_far(lines.at)
        rows = [*lines.news.take(), *self._take_rows()]
        return rows if self._unread is None or self._unread.hint() == "" else [*rows, Hint(self._unread.told)]

    def _read_open(self, rest: bytes, over: bool = True) -> list[Record]:
        """Reads what may go on as if nothing followed: the beginning of a line, lines that are held back, and the steps
        that they belong to. Afterwards the state is as before. `over`: the log ends here."""
        lines = self._lines
        held = lines.joined.first_held
        lines.filter.learns = False
        self.torn_line = lines.at if rest else self.torn_line
        lines.rows.foretells = lines.news.foretells = True
        lines.rows.look_ahead()
        if rest or held:
            lines.untaken.forget_open()  # these lines are read again
        lines.untaken.open_line = held or (lines.at if rest else 0)
        if rest:
            lines.blanks.look_ahead()
            lines.joined.look_ahead()
        own = lines.own if rest or held else None
        if own is not None:
            own.look_ahead()
            lines.dialects.look_ahead()
        lines.intake.begin(rest)
        told = self._read(rest) if rest else []
        if own is not None:
            own.look_further(torn=bool(rest))
            lines.dialects.look_further(torn=bool(rest))
        lines.take_joined(lines.joined.finish(lines.rows.names))
        lines.untaken.open_line = 0
        lines.bars.settle(over)
        if lines.own is not None:
            lines.intake.add_steps(lines.dialects.look_back(), lines.at)
            lines.tell(lines.own.look_back())
        lines.intake.look_back(lines.at)
        lines.filter.learns = True
        lines.intake.end()
        lines.rows.foretells = lines.news.foretells = False
        return told

    @property
    def waits(self) -> bool:
        return self._lines.bars.waits or super().waits

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _read(self, block: bytes) -> list[Record]:
        text = self._lines.rows.cut(as_utf8(block.replace(b"\r\n", b"\n") if b"\r" in block else block))
        first = self._lines.at
        self._scan(text)
        self._lines.reach(len(text))
        self._lines.rows.paced(text, first)
        return [*self._lines.news.take(), *self._take_rows()]

    def _take_rows(self) -> list[Record]:
        rows = self._lines.rows.take(self.counted)
        for one in rows:
            if isinstance(one, Rows):
                one.unplaced = self._lines.bars.unplaced
        if self._unread is not None and self._lines.rows.came:
            rows = [Hint(""), *rows] if self._unread.told else rows
            self._unread = None  # no line needs to be suggested any more
        return rows

    def _scan(self, text: bytes) -> None:
        """Reads everything except verl's step lines."""
        lines = self._lines
        first_line = lines.at
        block = QuietLines(text, lines.filter)
        follows, joining = lines.follows(), lines.joined.is_open
        learns = lines.own is not None and lines.filter.learns and len(block.lines) > FEW and self._settled.learns
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
            if learns and lines.own is not None:
                lines.own.reading = None
            lines.at = first_line + i
            for segment in line.split(b"\r") if b"\r" in line else (line,):
                shape = form if segment is line else shape_of(segment)
                end = at + len(segment)
                repainted = segment is not line and self._is_quiet(follows or joining)
                if repainted and self._paint_known(segment, shape, text, at):
                    above, at = segment, end + 1
                    continue
                marked = holds_mark(text, at, end)
                lines.took = False
                if lines.patterns is not None and lines.by_pattern(lines.patterns, segment, at):
                    lines.took = True
                elif (marked or joining or may_be_joined(segment)) and lines.joined.wants(segment, above, marked):
                    lines.reach(at)
                    blank = lines.blanks.before(text, at)
                    lines.take_joined(lines.joined.take(segment, lines.at, blank, lines.rows.names))
                    lines.took = True  # if it was given back, it is counted there
                    follows, joining = lines.follows(), lines.joined.is_open
                elif shape and (follows or shape not in lines.filter.dull):
                    lines.reach(at)
                    if not lines.safely(lines.segment, segment, shape, text, at):
                        lines.filter.forget(shape, lines.filter.dull)
                    follows, joining = lines.follows(), lines.joined.is_open
                elif shape and lines.own is not None and lines.own.learns:
                    lines.took = lines.is_by_bar(segment)
                    if not lines.took:
                        lines.safely(lines.any_line, lines.own, segment, shape)
                    follows = lines.own.is_open
                if shape and not lines.took:
                    lines.untaken.add(shape, segment, lines.at)
                above = segment or above
                at = end + 1
                if marked:
                    lines.joined.pass_by(segment, lines.at)
            if form and learns and lines.own is not None:
                self._settled.learn(None if joining else lines.own.reading, line, form, lines.at)
            i += 1
        lines.at = first_line + len(block.lines) - 1
        lines.joined.end(above)
        lines.blanks.after = lines.blanks.before(text, len(text))
        if self.gives_lines:
            self._newest.keep(text, first_line)
        if self._unread is not None:
            self._unread.keep(text, first_line)

    def _pass_by(self, block: QuietLines, begin: int, end: int, text: bytes, first_line: int) -> int:
        """Passes by lines of forms that are known: bars are painted, and the others only counted. Returns the first
        line that must be looked at."""
        lines = self._lines
        bars = block.bars(begin, end)
        if bars and not self._paints_at_once:
            bars, end = [], bars[0]
        in_turn = BarsInTurn(lambda painted, line: lines.safely(self._paint, painted, line))
        for i in bars:
            waits = lines.own is not None and lines.rows.waits(block.start(i))
            painted = None if waits else lines.known_bars.read(block.lines[i])
            if painted is None:
                end = i
                break
            lines.rows.pace.at = lines.at = first_line + i
            if Stepper.looks_at(painted):
                in_turn.end()
                lines.reach(at := block.start(i))
                lines.safely(self._paint, painted, lines.at, text, at)
            else:
                in_turn.take(painted, lines.at)
        in_turn.end()
        if begin < end:
            block.count(lines.untaken, begin, end, first_line)
        return end

    def _pass_settled(self, block: QuietLines, i: int, first_line: int) -> int:
        """Takes lines of a form that is settled. Returns the first line that must be read word by word."""
        if self._lines.own is None or not self._is_calm:
            return i

        def take(line: int, rows: Callable[[], list[StepRow]]) -> None:
            self._lines.at = self._lines.rows.pace.at = line
            self._lines.tell(rows(), plans=True)

        end = i + bisect_left(range(i, len(block.lines)), True, key=lambda at: self._lines.rows.waits(block.start(at)))
        return self._settled.take(self._lines.own, block.lines, range(i, end), first_line, take)

    @property
    def _is_calm(self) -> bool:
        """Whether nothing is expected that the next line may be."""
        odd = (
            self._lines.before_steps
            or self._lines.config.is_open
            or self._lines.notes.in_traceback
            or self._lines.dialects.is_open
        )
        return not (odd or self._lines.news.expects or self._lines.rows.in_doubt or self._lines.rows.step is None)

    def _paint_known(self, segment: bytes, shape: bytes, text: bytes, at: int) -> bool:
        """Paints a known bar that is not alone on its line. False if there is none."""
        lines = self._lines
        if shape not in lines.filter.bars or may_hold_mark(shape) or not self._paints_at_once:
            return False
        if (lines.own is not None and lines.rows.waits(at)) or (painted := lines.known_bars.read(segment)) is None:
            return False
        lines.rows.pace.at = lines.at
        lines.reach(at)
        return lines.safely(self._paint, painted, lines.at, text, at)

    @property
    def _paints_at_once(self) -> bool:
        """Whether nothing else is to be told of a known bar but what it shows."""
        return self._lines.filter.learns and not self._lines.before_steps and not self._lines.news.expects

    def _paint(self, painted: ProgressBar, line: int, text: bytes = b"", at: int = 0) -> bool:
        self._lines.bars.paint(painted, lambda: self._lines.blanks.before(text, at), line)
        return True

    def _is_quiet(self, follows: bool) -> bool:
        """Whether a line of a form that told nothing before also tells nothing now."""
        return not follows and self._lines.patterns is None and (self._lines.own is None or not self._lines.own.learns)
