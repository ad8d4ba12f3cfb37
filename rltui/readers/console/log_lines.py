"""The lines of a console log, one by one: each is given to the readers of bars, dicts, dialects, step lines, settings
and notes, until one takes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import ParamSpec

from msgspec.structs import replace

from rltui.readers.base import ConfigRecord, Note
from rltui.readers.console import line_pattern, trl
from rltui.readers.console.bar_rows import BarRows
from rltui.readers.console.config import YAML_LINES, ConfigFinder
from rltui.readers.console.dialects import Dialects
from rltui.readers.console.evaluations import EvaluationsBeside
from rltui.readers.console.invalid_rounds import InvalidRounds
from rltui.readers.console.joined_lines import Joined, JoinedLines
from rltui.readers.console.known_bars import KnownBars
from rltui.readers.console.lead import plain
from rltui.readers.console.line_filter import SCAN_LIMIT, LineFilter, shape_of
from rltui.readers.console.log_records import LogNews, LogRows
from rltui.readers.console.notes import TOLD_ONCE, NoteFinder, split_prefix
from rltui.readers.console.own_words import OwnWords
from rltui.readers.console.planned_steps import plan_at_end
from rltui.readers.console.printed_list import Printed
from rltui.readers.console.progress_bar import Blanks, bar, bar_after, behind_bar, may_be_bar
from rltui.readers.console.row_intake import RowIntake
from rltui.readers.console.step_template import StepRow
from rltui.readers.console.untaken import UntakenLines
from rltui.readers.document_rows import records, training_steps

LAUNCHES = frozenset(("start", "resume", "end", "traceback", "oom", "killed"))
"""Notes after which a bar that begins again belongs to another launch, not to another epoch."""
FATAL = frozenset(("traceback", "oom", "killed"))
"""Notes of what may have ended an attempt."""
P = ParamSpec("P")
FAILED = "lines on which rltui failed"


class LogLines:
    """Takes the lines in file order. `at`: the number of the current line, `took`: whether something was taken from it.
    `own`: None once the steps come in a known dialect. `patterns`: the user's, used instead of all that is known about
    step lines. `skipped`, `skipped_at`: see `Reader`. `above`: the number of lines above the first."""

    stops_at_faults = False
    """Set by tests, so that no fault of a reader stays hidden."""

    def __init__(self, skipped: Counter[str], skipped_at: dict[str, str], above: int = 0) -> None:
        self.at, self.took = above + 1, False
        self.torn_line = 0  # the newest line that was read without its end
        self.rows, self.news, self.untaken = LogRows(skipped, skipped_at), LogNews(), UntakenLines()
        self.intake = RowIntake(self.rows, self.news, self.untaken, skipped, skipped_at)
        self.notes = NoteFinder(self.rows.clock)
        self.bars = BarRows(self.rows, self.news, self.intake.skip)
        self.patterns = line_pattern.PatternLines(used, self.rows.clock) if (used := line_pattern.in_use()) else None
        alone = self.patterns is None
        self.own = OwnWords(self.rows.clock, self._skip_here, self.bars.newest, self._names) if alone else None
        self.dialects = Dialects()  # asked only while `own` is not None
        self.config = ConfigFinder()
        self.before_steps = self.own is not None  # printed YAML may come
        self.blanks, self.filter, self.known_bars, self.joined = Blanks(), LineFilter(), KnownBars(), JoinedLines()
        self._rounds = InvalidRounds()
        self._evaluations = EvaluationsBeside()  # asked only if `own` is None
        self._set_looks()

    def take_joined(self, found: list[Joined]) -> None:
        """Adds the rows of printed lists, and reads the lines that are now complete, each with its own number."""
        here, now = self.blanks.after, self.at
        for one in found:
            if isinstance(one, Printed):
                self._add_printed(one)
                continue
            self.took, shape = False, shape_of(one.text)
            self.at, self.blanks.after = one.number, one.after_blank
            if not one.dull:
                self.safely(self.segment, one.text, shape, one.text, 0)
            if shape and not self.took:
                self.untaken.add(shape, one.text, self.at)
            self.blanks.after, self.at = here, now

    def _add_printed(self, printed: Printed) -> None:
        """Adds rows that were printed all at once, after the rows that are held back, which they may repeat."""
        self.bars.settle()
        if self.own is not None:
            self.intake.add_steps(self.dialects.close(), self.at)
            self.tell([*self.own.settle(), *self.own.close()])
        self.bars.know(training_steps(printed.held.rows))
        read = records(printed.held, f"printed at line {printed.line}")
        for reason, count in read.skipped.items():
            self.intake.skip(reason, printed.line, count)
        self.news.add(record for record in read.records if isinstance(record, Note | ConfigRecord))
        self.rows.give(read.records, f"line {printed.line}")

    def reach(self, at: int) -> None:
        """Passes verl's step lines before a place of the text, as the log is read up to there."""
        if self.rows.waits(at):
            self._found_dialect()
            self.rows.reach(at)
            self.news.at(self.rows.step)

    def follows(self) -> bool:
        """Whether the next lines may matter even if they have no marks."""
        if self.config.is_open or self.notes.in_traceback:
            return True
        return self.own is not None and (self.own.is_open or self.dialects.is_open)

    def safely(self, read: Callable[P, bool], *args: P.args, **named: P.kwargs) -> bool:
        """Reads a line. A line on which the reader fails is left out and counted: only this line is lost, not all
        rows."""
        try:
            return read(*args, **named)
        except Exception as error:
            if self.stops_at_faults:
                raise
            self.intake.skip(f"{FAILED} ({type(error).__name__})", self.at)
            return True

    def segment(self, segment: bytes, shape: bytes, text: bytes, at: int, behind: bool = False) -> bool:
        """Reads one line or printed bar, at a place of the text. `behind`: it follows a bar on its line. Returns
        whether a line of this shape can matter."""
        self.rows.pace.at = self.at
        if self.before_steps and (self.rows.step is not None or self.at > YAML_LINES):
            self.before_steps = False
            self._set_looks()
        while cut := trl.first_of_several(segment):
            first, segment = segment[:cut], segment[cut:]
            self.segment(first, shape_of(first), text, at, behind)
            at, shape = at + cut, shape_of(segment)
        following = self.follows()
        speaks = following or (shape not in self.filter.bars and self.filter.speaks(segment))
        barred = may_be_bar(segment)
        if barred and not behind and (cut := bar_after(segment)):
            first, rest = segment[:cut], segment[cut:]
            self.segment(first, shape_of(first), text, at)
            return self.segment(rest, shape_of(rest), text, at + cut, behind=True)
        if self.intake.torn and barred and segment.rfind(b"[") > segment.rfind(b"]"):
            return False  # its numbers are still being written
        if not barred and b"'epoch'" not in segment and self.is_by_bar(segment):
            self.took = True
            return True
        if not speaks and not barred and b"'epoch'" not in segment:
            return not behind and self.any_line(self.own, segment, shape)
        whole, segment = segment, segment[:SCAN_LIMIT]
        painted = bar(segment) if barred else None
        if painted is not None:
            self.took = True
            if self.own is not None and self.own.learns:
                self.bars.take_numbers(painted, segment, self.at)
            self.bars.paint(painted, lambda: self.blanks.before(text, at), self.at)
            glued = behind_bar(segment)
            listed = b""
            if glued and not self.rows.foretells:  # while foretelling, it was held back already
                listed = glued if whole is segment else behind_bar(whole)
            if listed and self.joined.wants(listed, b"", marked=True):
                self.take_joined(self.joined.take(listed, self.at, False, self.rows.names))
                self.took = True
                return True
            if glued and shape not in self.filter.bars and (speaks or b"'epoch'" in glued):
                # buffered output writes its lines right after the bar
                at += len(segment) - len(glued)
                if not self.segment(glued, shape_of(glued), text, at, behind=True):
                    self.filter.forget(shape, self.filter.bars)
                return True
            if not speaks:
                self.filter.forget(shape, self.filter.bars)
                self.known_bars.learn(segment, painted)
                return True
        elif b"'epoch'" in segment and (line := trl.cells(segment)) is not None:
            self.took = True
            self._logged(*line, segment, text, at)
            return True
        matters = self._words(segment, shape, painted is not None, behind)
        return matters or painted is not None or following or self.follows()

    def _logged(self, line: dict[str, str], begin: int, segment: bytes, text: bytes, at: int) -> None:
        """Reads a dict line of TRL or the HF Trainer, which begins at place `begin` of the segment."""
        if "train_runtime" in line:
            self.bars.plan(plan_at_end(line))
            self.news.end(segment, self.at, self.rows.step, self.rows.laps)
            return
        self._found_dialect()
        self.bars.logged(line, self.blanks.before(text, at), self.at, self.rows.clock.before(segment, begin))

    def _words(self, segment: bytes, shape: bytes, painted: bool, behind: bool) -> bool:
        """Reads a line with one of the marks or after one, or a `painted` bar with a mark. Returns whether it was of
        use."""
        step = self.rows.step
        decoded = segment.decode("utf-8", "replace")
        notes = self.notes.line(decoded, self.at, step, self.bars.done, self.bars.unplaced)
        if self.at == self.torn_line:  # the notes of the complete line replace those of its beginning
            notes = [note._replace(begun=note.begun or self.at) for note in notes]
        notes = [note._replace(laps=self.rows.laps, rows=self.bars.unplaced) for note in notes]
        prefix, message = split_prefix(decoded)
        configs = self.config.line(prefix, message, self.at, step is None, self.before_steps)
        self.news.add([*notes, *(config._replace(after=step) for config in configs)])
        if self.notes.ungraded is not None:
            self.news.add([self.notes.ungraded])
        for config in configs:
            self.bars.hear(config.values)
        if any(note.kind in LAUNCHES for note in notes):
            self.bars.launched()
        anew = any(note.kind == "resume" or (note.kind == "start" and step is not None) for note in notes)
        if anew or any(note.kind in FATAL for note in notes):  # a count that goes back after it is of another attempt
            self.intake.resumed(self.at)
        if anew:
            self.news.resumed(step)
        matters = bool(notes or configs) or self.notes.fails
        heard = matters
        if self.at != self.torn_line and any(note.kind in TOLD_ONCE for note in notes):
            self.untaken.note(shape)
        self.took |= matters or self.config.is_open or self.notes.in_traceback
        counted = self._rounds.line(message, step)
        if counted is not None:
            self.took = True
            self.rows.add_aside(*counted)
            return True
        if self.own is None and not painted:
            matters |= self._evaluated(segment)
        elif self.own is not None and not painted:
            message = plain(message)
            if any(note.kind == "resume" for note in notes):
                self.own.resume()
            elif self._dialect_line(self.own, prefix, message):
                self.own.other()
                matters = self.took = True
            else:
                self.own.at = self.at
                rows, found = self.own.named(message, shape, prefix, None if self.rows.in_doubt else step, behind)
                self.tell(rows, plans=True)
                matters |= found
                self.took |= self.own.belongs
                self.own.reading = None if heard else self.own.reading
        if not matters and step is not None and not self.rows.foretells:
            self.news.expect(self.config.in_a_line(message, self.at), step)
        return matters

    def _found_dialect(self) -> None:
        if self.own is not None:
            self.tell(self.own.close())
            self.own, self.before_steps = None, False
            self.untaken.settle()
            self._set_looks()

    def _dialect_line(self, own: OwnWords, prefix: str, message: str) -> bool:
        """Reads a line of one of the dialects. False if none of them knows it."""
        done = self.dialects.line(prefix, message, self.rows.clock, self.at)
        if done:
            at = None if self.rows.in_doubt else self.rows.step
            done = [placed for step in done if (placed := step.at_newest(at)) is not None]
            if not all(step.beside or own.is_at(step.step) for step in done):
                own.stop()
            if any(step.beside for step in done):
                self.tell(own.close())  # before the names of these are known: an open end gives no new names
            self.intake.add_steps(done, self.at, plans=True)
        return done is not None

    def any_line(self, own: OwnWords | None, segment: bytes, shape: bytes) -> bool:
        """Reads a line without a mark: it may be a step line in its own words. Returns whether it gave a row."""
        if own is None:
            return self._evaluated(segment)
        prefix, message = split_prefix(segment.decode("utf-8", "replace"))
        own.at = self.at
        rows = own.line(plain(message), shape, prefix)
        self.tell(rows, plans=True)
        return bool(rows)

    def is_by_bar(self, segment: bytes) -> bool:
        """Whether a line is a row of the step that the bar above it counts: a dict, or pairs that are not below a
        step."""
        if b"{" in segment:
            return self.bars.take_line(segment)
        return self.own is not None and not self.own.is_below_step and self.bars.take_line(segment)

    def _evaluated(self, segment: bytes) -> bool:
        """Reads a line beside the rows of verl or TRL, if it reports an evaluation. True if so."""
        if self.patterns is not None:
            return False
        told = self._evaluations.line(segment.decode("utf-8", "replace"), self.bars.newest(), self.news.planned)
        if told is not None:
            row, before = told
            rows = [replace(row, lines=(self.at,), time=self.rows.clock.of(before))]
            self.tell(rows)
        return told is not None

    def tell(self, rows: list[StepRow], *, plans: bool = False) -> None:
        rows = rows if self.own is None else self.own.with_scores_before(rows)
        if any(row.cells and not row.aside for row in rows):
            self.bars.end()
        self.took |= self.intake.tell(rows, self.at, plans=plans)
        self.news.at(self.rows.step)

    def by_pattern(self, patterns: line_pattern.PatternLines, segment: bytes, at: int) -> bool:
        """Reads a line by the user's patterns. True if one of them matches."""
        self.reach(at)
        rows = patterns.line(plain(segment[:SCAN_LIMIT].decode("utf-8", "replace")), self.rows.step)
        self.tell(rows or [], plans=True)
        return rows is not None

    def _set_looks(self) -> None:
        known = self.own is None
        self.filter.look_for([] if known else self.dialects.marks, not known, self.before_steps)

    def _names(self) -> Collection[str]:
        return self.rows.names

    def _skip_here(self, reason: str) -> None:
        self.intake.skip_when_whole(reason, self.at)
