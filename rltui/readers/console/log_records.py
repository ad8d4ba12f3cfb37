"""Collects the records of a console log in the order of its lines. Rows: verl's step lines, which are cut out of a
block first and parsed many at once, and between them rows of other dialects, one by one. Other records: notes and
settings, the progress, and the newest plain lines."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping
from itertools import accumulate, pairwise
from math import isnan, nan
from typing import TYPE_CHECKING

from msgspec import Struct, field

from rltui.cooperate import Meanwhile
from rltui.readers.base import ConfigRecord, Counted, LogLine, Note, Record, Rows, Treated, Ungraded
from rltui.readers.console import verl as verl_console
from rltui.readers.console.courses import OTHER_COUNT, Courses
from rltui.readers.console.lead import split_lead
from rltui.readers.console.line_clock import LineClock, time_of
from rltui.readers.console.notes import split_prefix
from rltui.readers.console.progress_bar import ProgressBar, bar
from rltui.readers.console.step_template import StepRow
from rltui.readers.console.trainings import Trainings, training_of
from rltui.readers.rows import RowBuilder
from rltui.text import clean

if TYPE_CHECKING:
    from rltui.readers.bulk import ManyLines

UNDATED = "rows without a time, as the time stamps of the lines have no date and no line above them has one"


class _StepLines(Struct):
    """verl's step lines of one block. `heads`: the text before each. `offsets`: where each was in the block without
    them. `begun`: parses them meanwhile. `reached`, `added`: how many were passed and added so far. `times`: of those
    that were passed."""

    steps: list[int]
    lines: list[bytes]
    heads: list[bytes]
    offsets: list[int]
    begun: Meanwhile[ManyLines] | None = None
    times: list[float] = field(default_factory=list)
    reached: int = 0
    added: int = 0


class LinePace(Struct):
    """How often lines made rows known: how many rows, and the first and newest of these lines. `at`: the number of the
    line that is read. `longest`: the most lines from one row to the next, since its reader last set it to 0."""

    at: int = 0
    longest: int = 0
    rows: int = 0
    first: int = 0
    newest: int = 0

    def row(self, line: int) -> None:
        """Takes a row that was known with this line."""
        if self.rows:
            self.longest = max(self.longest, line - self.newest)
        self.rows += 1
        self.first = self.first or line
        self.newest = max(self.newest, line)

    @property
    def lines_a_row(self) -> float | None:
        """The mean number of lines from row to row; None if there are too few rows."""
        return (self.newest - self.first) / (self.rows - 1) if self.rows > 1 else None


LAP = 2
"""The steps went back only if they fell by at least this many: two processes that write one log differ by one row."""


class LogRows:
    """Collects the rows. `step`: the newest training step. `laps`: how often it went back. `came`: a row was read.
    `clock`: gives the times of the lines. `foretells`: the coming rows may come again, as the log may go on inside
    them; those that come again unchanged are then dropped."""

    def __init__(self, skipped: Counter[str], skipped_at: dict[str, str]) -> None:
        self.foretells = False
        self._foretold: dict[int, list[Mapping[str, object]]] = {}
        self._came_before: dict[int, list[Mapping[str, object]]] = {}  # those of earlier looks
        self.laps = 0
        self._step: int | None = None
        self._sure_step: int | None = None  # without those that may come again
        self.came = False
        self.clock = LineClock()
        self.pace = LinePace()
        self._rows = RowBuilder(skipped, skipped_at)
        self._given: list[Record] = []  # rows that came before the steps of others were known, and these steps
        self._counts = False  # rows were counted, as nothing states their steps
        self._line = self._kept_line = 0  # the last line from which a row was added
        self._trainings = self._kept_trainings = Trainings()
        self._cut = _StepLines([], [], [], [])
        self._courses = Courses()
        self._kept: Courses | None = None  # while the end is read: the courses without it
        self._skipped, self._skipped_at = skipped, skipped_at

    @property
    def step(self) -> int | None:
        return self._step

    def _come_to(self, step: int) -> None:
        self._step = step
        if not self.foretells:
            self.passed(step)

    def _pass(self, steps: list[int]) -> None:
        """Comes to several steps in turn."""
        self._step = steps[-1] if steps else self._step
        if not self.foretells and steps:
            first = steps if self._sure_step is None else [self._sure_step, *steps]
            self.laps += sum(step <= before - LAP for before, step in pairwise(first))
            self._sure_step = steps[-1]

    def passed(self, step: int) -> None:
        """Takes the step of a row that will not come again."""
        self.laps += self._sure_step is not None and step <= self._sure_step - LAP
        self._sure_step = step

    def cut(self, block: bytes) -> bytes:
        """The block without verl's step lines."""
        if b"step:" not in block:
            return block
        steps, lines, around = verl_console.cut(block)
        if not lines:
            return block
        heads = [before[before.rfind(b"\n") + 1 :] for before in around[:-1]]
        offsets = list(accumulate(map(len, around[:-1])))
        self._cut = _StepLines(steps, lines, heads, offsets, verl_console.ahead(lines))
        return b"".join(around)

    def paced(self, text: bytes, first: int) -> None:
        """Takes the line numbers of the step lines that were cut out of this text. `first`: the number of its first
        line."""
        at = 0
        for offset in self._cut.offsets:
            first += text.count(b"\n", at, offset)
            at = offset
            self.pace.row(first)

    def waits(self, at: int) -> bool:
        """Whether step lines were cut out before a place of the text that `reach` has not passed yet."""
        return bisect_right(self._cut.offsets, at) > self._cut.reached

    def reach(self, at: int) -> None:
        """Passes the step lines before a place: takes their times and the newest step."""
        cut, clock = self._cut, self.clock
        self._release()
        before, cut.reached = cut.reached, bisect_right(cut.offsets, at)
        for head in cut.heads[before : cut.reached]:
            if head == clock.plain:
                cut.times.append(nan)
                continue
            cut.times.append(time := clock.before(head, len(head)))
            clock.know(time)
        self._pass(cut.steps[before : cut.reached])

    def add(self, step: int, cells: Mapping[str, object], time: float = nan) -> None:
        """Adds one row at the log's current step."""
        self.add_aside(step, cells, time)
        self._come_to(step)
        self.came = True

    def tell(self, row: StepRow) -> list[StepRow]:
        """Takes the row of a step line, which may hold only the step. Returns the rows that now count: some wait for
        others that show whether their count is that of the steps."""
        rows = self._courses.take(row)
        if row.cells:
            self.pace.row(self.pace.at)
        self.clock.know(row.time)
        for told in rows:
            self._put(told)
        if not rows and not row.aside and not self._courses.is_doubtful(row):
            self._step = row.step  # it waits: laps are those of the rows that count
        if self._courses.dropped and not self.foretells:
            dropped, self._courses.dropped = self._courses.dropped, []
            self._skipped[OTHER_COUNT] += len(dropped)
            at = next((one.lines[0] for one in dropped if one.lines), None)
            if at is not None:
                self._skipped_at.setdefault(OTHER_COUNT, f"line {at}")
        return rows

    @property
    def in_doubt(self) -> bool:
        """Whether it is open which lines count the steps."""
        return self._courses.in_doubt

    def resumed(self) -> list[StepRow]:
        """The log says that the run goes on from a checkpoint: counts go back. Returns the rows that waited."""
        rows = self._courses.resumed()
        for row in rows:
            self._put(row)
        return rows

    def look_ahead(self) -> None:
        """Saves which rows wait, as what is read now may go on."""
        self._kept, self._courses = self._courses, self._courses.copy()
        self._kept_line, self._kept_trainings = self._line, self._trainings.copy()
        self._came_before, self._foretold = self._foretold, {}

    def look_back(self) -> list[StepRow]:
        """The rows that wait, as the log ends here for now. They go on waiting only if it is still open which lines
        count."""
        rows = self._courses.release()
        for row in rows:
            self._put(row)
        if self._kept is not None:
            self._courses, self._kept, self._line = self._kept, None, self._kept_line
            self._trainings = self._kept_trainings
        if not self._courses.in_doubt and self._courses.held and not self._courses.sure:
            for row in self._courses.release():  # given out above: they do not come again
                if one := self._foretold.get(row.step):
                    del one[0]
        return rows

    def _put(self, row: StepRow) -> None:
        line = max(row.lines, default=0)
        behind = 0 < line < self._line
        self._line = max(line, self._line)
        if row.cells or row.aside:
            training = "" if row.aside or behind else row.training or training_of(split_lead(row.message))
            self._add(row.step, row.cells, row.time, behind, self._trainings.begins(training, row.step))
            self.came = True
        if not (row.aside or behind):
            self._come_to(row.step)

    def _release(self) -> None:
        """Adds the rows that wait, as a row of another kind follows."""
        for row in self._courses.release():
            self._put(row)

    def add_aside(self, step: int, cells: Mapping[str, object], time: float = nan) -> None:
        """Adds one row that does not change the log's current step."""
        self.pace.row(self.pace.at)
        self._release()
        self._add(step, cells, time)

    def _add(
        self, step: int, cells: Mapping[str, object], time: float, behind: bool = False, anew: bool = False
    ) -> None:
        self._add_cut()
        known = self._came_before if self.foretells else self._foretold
        if self.foretells:
            self._foretold.setdefault(step, []).append(dict(cells))
        if known and (same := known.get(step)):
            at = next((i for i, one in enumerate(same) if one == cells), None)
            del same[0 if at is None else at]  # if none is the same, this row took the place of the first
            if at is not None:
                return
        self._rows.add(step, cells, time, behind=behind, anew=anew)
        self.clock.know(time)

    def place(self, steps: dict[int, int], counts: bool) -> None:
        """Gives counted rows their steps (count -> step). `counts`: other rows are still counted."""
        self._release()
        self._add_cut()
        self._counts = counts
        self._given += [*self._rows.take(), Counted(counts, steps)]
        self._come_to(max(steps.values()))

    def give(self, records: Iterable[Record], place: str) -> None:
        """Takes rows that were printed all at once at a place, and what was done with them."""
        self._release()
        self._add_cut()
        self._given += self._rows.take()
        for record in records:
            if isinstance(record, Rows):
                record.printed, self.came = place, True
                self._come_to(max(self.step or 0, *record.steps))
            if isinstance(record, Rows | Treated):
                self._given.append(record)

    @property
    def names(self) -> Collection[str]:
        """The names of the metrics in the rows so far."""
        held = self._courses.held
        return {*self._rows.names, *(name for row in held for name in row.cells)} if held else self._rows.names

    def take(self, counts: bool) -> list[Record]:
        """The records collected so far, after the text of a block was read. `counts`: rows are now counted."""
        self._add_cut()
        self._cut = _StepLines([], [], [], [])
        given, self._given = self._given, []
        self._rows.zoned = self.clock.zoned
        given += self._rows.take()
        for one in given[-1:]:
            if isinstance(one, Rows):
                one.laps = self.laps
        if self._counts != counts:
            self._counts = counts
            given.append(Counted(counts, {}))
        if self.clock.undated:
            timeless = sum(isnan(time) for rows in given if isinstance(rows, Rows) for time in rows.times)
            given += [Treated(UNDATED, timeless)] if timeless else []
        return given

    def _add_cut(self) -> None:
        """Adds the rows of the passed step lines: many at once, but always before a later row of another dialect."""
        cut = self._cut
        if cut.added < cut.reached:
            part = slice(cut.added, cut.reached)
            cut.added = cut.reached
            begun = cut.begun if part == slice(0, len(cut.lines)) else None
            verl_console.parse(cut.steps[part], cut.times[part], cut.lines[part], self._rows, begun)
            self.came = True


MOST_EXPECTED = 16
"""Most settings in one line that wait for a launch."""


class LogNews:
    """Collects notes and settings in the order of the lines; for progress and phases, only the newest. `foretells`: see
    `LogRows`."""

    def __init__(self) -> None:
        self.foretells = False
        self._foretold: list[Note | ConfigRecord | Ungraded] = []
        self._records: list[Record] = []
        self._newest: dict[str, Note] = {}
        self._progress: tuple[int | None, int | None] = (None, None)
        self._progress_line: int | None = None  # of a bar whose progress is the newest: given out by `take`
        self._other_bar: ProgressBar | None = None
        self._expected: list[ConfigRecord] = []
        self._resumed_after: int | None = None  # the newest step when the log said that it was resumed

    def add(self, records: Iterable[Note | ConfigRecord | Ungraded]) -> None:
        for record in records:
            if isinstance(record, Note) and record.kind in ("progress", "phase"):
                self._newest[record.kind] = record
                if record.kind == "progress":
                    self._progress_line = None
                continue
            foretold = record in self._foretold
            if foretold and not self.foretells:
                self._foretold.remove(record)
            elif self.foretells and not foretold:
                self._foretold.append(record)
            if not foretold:
                self._records.append(record)

    def expect(self, config: ConfigRecord | None, step: int) -> None:
        """Takes settings that were printed after this step. They count only if another launch begins with them."""
        if config is not None and step == self._resumed_after:
            self.add([config._replace(after=step)])
        elif config is not None and len(self._expected) < MOST_EXPECTED:
            self._expected.append(config._replace(after=step))

    def resumed(self, step: int | None) -> None:
        """The log says that the run goes on from a checkpoint: what was printed since its newest step belongs to this
        launch, even if no step comes twice."""
        self._resumed_after = step
        self.add([config for config in self._expected if config.after == step])
        self._expected = [config for config in self._expected if config.after != step]

    def at(self, step: int | None) -> None:
        """Takes the log's current step. If it went back, another launch began."""
        if self._expected and step is not None and not self.foretells and step < (self._expected[-1].after or 0):
            self.add(self._expected)
            self._expected.clear()

    @property
    def expects(self) -> bool:
        """Whether settings wait for a launch: then each step counts as it comes."""
        return bool(self._expected)

    @property
    def planned(self) -> int | None:
        """The planned steps; None if unknown."""
        return self._progress[1]

    def progress(self, done: int, total: int, line: int) -> None:
        """Takes how many of the planned steps are done."""
        if self._progress != (done, total):
            self._progress, self._progress_line = (done, total), line

    def end(self, said: bytes, line: int, step: int | None, laps: int) -> None:
        """Takes the line in which the trainer says that it is done."""
        self.add([Note("end", clean(said.decode("utf-8", "replace"), 500), line, step, laps=laps)])

    def other_work(self, painted: ProgressBar, line: int) -> None:
        """Takes a bar of other current work, such as a validation or a rollout."""
        if painted.total and painted != self._other_bar:
            self._other_bar = painted
            done = f"{painted.name or 'other work'}: {painted.done} of {painted.total}"
            self._newest["phase"] = Note("phase", clean(done, 200), line)

    def take(self) -> list[Record]:
        """All records since the last call."""
        if self._progress_line is not None:
            done, total = self._progress
            self._newest["progress"] = Note("progress", f"step {done} of {total}", self._progress_line, done, total)
            self._progress_line = None
        records = [*self._records, *self._newest.values()]
        self._records.clear()
        self._newest.clear()
        return records


MAX_LOG_LINES = 500
"""Most plain lines that are given out at once, the newest ones: the pane shows no more, and cleaning text is slow."""
_SCAN_LIMIT = 20_000  # characters of one line that are looked at


class NewestLines:
    """Keeps raw lines as they come. Each is cleaned and given out once."""

    def __init__(self) -> None:
        self._newest: deque[tuple[int, bytes]] = deque(maxlen=MAX_LOG_LINES)

    def keep(self, text: bytes, first_line: int) -> None:
        """Keeps the newest lines of a text. `first_line`: the number of its first line."""
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
