"""Rows whose steps are counted by a progress bar, as TRL and the HF Trainer log them, and numbers shown in bars:
`[00:10<01:30, 1.0it/s, loss=0.3]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan

from rltui.readers.console.bar_rounds import MOST_PARTS, BarRounds
from rltui.readers.console.bar_text import Round, described, may_show, may_train, pace, postfix, round_counted, trains
from rltui.readers.console.log_records import LogNews, LogRows
from rltui.readers.console.planned_steps import SAID, Plan, plan_of
from rltui.readers.console.progress_bar import TRAINING, ProgressBar, bar, stamp_before
from rltui.readers.console.rows_by_bar import BarRow, BarsAgain, RowsByBar
from rltui.readers.console.shown_numbers import PartsOfSteps, ShownNumbers
from rltui.readers.console.trl import Row, Stepper, stated_step
from rltui.readers.keys import MAX_STEP, first_of

SURE = 64
"""Most rows from bars that are held back: a line that states its step may follow, and then a step has several
batches."""

_BESIDE_STEPS = "number in a bar that counts batches, as other lines state their steps"


class BarNumbers:
    """Numbers shown in bars. They belong to the step that they name, else to the count of the bar. The last numbers at
    a count are used. Some loops set the numbers before the bar counts their step: then the first numbers at a new count
    are used, for the next step. `tell`: rows now come from bars, even if other lines state steps."""

    def __init__(self) -> None:
        self.tell = False
        self._held: BarRow | None = None
        self._full = False  # the bar that showed it has come to its end
        self._waiting: list[BarRow] = []
        self._first_epoch: int | None = None  # 0 or 1
        self._epoch: Round | None = None  # epoch of the held row
        self._outer: tuple[str, int] | None = None  # kind of bar that counts rounds, batches left in the newest one
        self._shown = ShownNumbers()
        self._parts = PartsOfSteps()
        self._trains = set[str]()  # names of bars that show numbers of training
        self._inside = set[int]()  # totals of step bars that tqdm draws below another bar, such as an epoch bar
        self.again = BarsAgain()

    def take(self, painted: ProgressBar, text: str, time: float = nan, line: int = 0) -> list[BarRow]:
        """Takes a bar that was printed in `line` at `time`. Returns the rows of the steps that are now over."""
        named = described(painted.name)
        if named:
            painted = painted._replace(name="")
        if painted.name not in self._trains and may_train(painted.name) and postfix(text, painted.name):
            self._trains.add(painted.name)
        place = self.place(painted)
        cells = {} if place is None else postfix(text, painted.name) | named
        if place is None or not cells:
            if place is not None or may_show(painted.name):
                self._shown.bare(painted, line)
            return []
        if self._parts.is_part(painted):
            return []
        told = self._shown.ahead
        if not self._shown.are_new(cells, painted, line):
            self._full = painted.done >= painted.total
            return []
        if self._shown.ahead != told and self._held is not None:
            self._held = (max(0, self._held[0] + self._shown.ahead - told), *self._held[1:])
        cells |= pace(text)
        epoch, counter = round_counted(painted.name), first_of("step", cells)
        if counter is not None and cells[counter].is_integer() and 0 <= cells[counter] < MAX_STEP:
            step = int(cells.pop(counter))
            self.tell = True
        else:
            step = self._shown.step(place[0], painted)
            if step == place[0] > painted.done == 0:
                return []  # the step is the last one of the epoch before: its numbers are known
        if not cells or (self._held is not None and self._held[1] == cells and step == place[0] + 1):
            return []  # only a step, or the same bar printed again below another line
        again = epoch is not None and epoch == self._epoch
        before, self._held, self._epoch = self._held, (step, cells, time), epoch
        self._full = painted.done >= painted.total
        self.tell |= epoch is None
        if before is not None and before[0] != step and not (again and step < before[0]):
            self._waiting.append(before)  # Lightning gives the full bar the name of the next epoch before that begins
        return self._over() if self.tell or len(self._waiting) >= SURE else []

    def outermost(self, painted: ProgressBar, text: str = "") -> ProgressBar:
        """The bar, no longer nested if it shows training numbers: then it counts the steps, and the bar above it counts
        the epochs. `text`: its line, if that is to be examined."""
        if not painted.nested or not may_show(painted.name):
            return painted
        if text and postfix(text, painted.name):
            self._inside.add(painted.total)
        return painted._replace(nested=False) if painted.total in self._inside else painted

    def launched(self) -> None:
        """Takes a line which reports that a program ended or another began."""
        self.again.launched()
        self._parts = PartsOfSteps()

    def so_far(self) -> list[BarRow]:
        """All rows so far, with the one that is held back. Called if nothing follows for now."""
        return [*self._over(), self._held] if self._held is not None else []

    def ended(self) -> list[BarRow]:
        """All rows of a bar that has reached its end, as other lines follow; none if it has not."""
        if self._held is None or not (self._full and self.tell):
            return []
        rows, self._held = self.so_far(), None
        return rows

    @property
    def newest(self) -> int | None:
        """The step of the numbers that bars show now; None if there are none."""
        return None if self._held is None else self._held[0]

    def drop(self) -> int:
        """Drops the waiting rows: another line states its step, so they count batches. Returns how many were
        dropped."""
        count = len(self._waiting) + (self._held is not None)
        self._waiting, self._held = [], None
        return count

    def _over(self) -> list[BarRow]:
        out, self._waiting, self.tell = self._waiting, [], True
        return out

    def place(self, painted: ProgressBar) -> tuple[int, int | None] | None:
        """The step that a bar shows, and the planned steps (None: unknown); None if it counts something else. The bar
        of an epoch continues the count of the epoch before."""
        if painted.nested:
            return None
        epoch = round_counted(painted.name)
        if epoch is None:
            known = painted.name in TRAINING or painted.name in self._trains or trains(painted.name)
            if not known:
                return None
            step = self.again.step(painted)
            return step, None if self.again.goes_on(painted) else painted.total
        if self._outer is not None and self._outer[0] != epoch.kind and self._outer[1] > 0:
            return None  # inside a batch of the outer bar: epochs over the samples of one step
        self._outer = epoch.kind, painted.total - painted.done
        if self._first_epoch is None:
            self._first_epoch = min(epoch.number, 1)
        step = max(0, epoch.number - self._first_epoch) * painted.total + painted.done
        return step, painted.total * epoch.planned if epoch.planned else None


class BarRows:
    """Adds the rows that bars count to those of a log. `skip`: called with reason, line and number of left-out
    numbers."""

    def __init__(self, rows: LogRows, news: LogNews, skip: Callable[[str, int, int], None]) -> None:
        self._rows = rows
        self._news = news
        self._skip = skip
        self._stepper = Stepper()
        self.unplaced = 0  # dicts that stated no step
        self.done: int | None = None  # finished steps, as bars show them
        self._numbers = BarNumbers()
        self._rounds = BarRounds()
        self._doubtful: list[BarRow] = []  # rows of a bar that may count parts of an iteration
        self._gave = False  # rows came from numbers of bars
        self._by_bar = RowsByBar()
        self._said: dict[str, object] = {}  # settings of the plan

    @property
    def guessed(self) -> bool:
        """Whether a line without a step got one that may be wrong."""
        return self._stepper.guessed

    @property
    def counts(self) -> bool:
        """Whether rows are counted, as nothing states their steps."""
        return self._stepper.counts or self._rounds.sure

    def paint(self, painted: ProgressBar, after_blank: Callable[[], bool], line: int) -> None:
        """Takes a bar that is printed. `after_blank` is called only for a bar that counts steps."""
        painted = self._numbers.outermost(painted)
        if described(painted.name):
            painted = painted._replace(name="")
        place = None if painted.nested else self._numbers.place(painted)
        self._by_bar.paint(painted, None if place is None else place[0])
        if self._stepper.looks_at(painted):
            self._add(self._stepper.paint(painted, after_blank()))
        again = place is not None and self._numbers.again.goes_on(painted)
        trains = not painted.nested and not again and painted.name in TRAINING
        if trains and painted.total == (self._stepper.total or painted.total):
            self.done = painted.done
            self._news.progress(painted.done, painted.total, line)
        elif self._numbers.tell and not self._in_rounds and place is not None:
            if place[1]:
                self.done = place[0]
                self._news.progress(place[0], place[1], line)
        else:
            self._news.other_work(painted, line)

    def launched(self) -> None:
        """Takes a line which reports that a program ended or another began."""
        self._numbers.launched()
        self._stepper.launched()

    def logged(self, cells: dict[str, str], after_blank: bool, line: int, time: float) -> None:
        """Takes a logged dict: a row at the step that it states, else at the step of the bar."""
        stated = stated_step(cells)
        if stated is None:
            self.unplaced += 1
            self._add(self._stepper.place(cells, after_blank, time))
            if self._stepper.asks_plan:
                self._add_counted([])
            return
        self._rows.add(stated[0], cells, time)
        if stated[1] is not None:
            self._news.progress(stated[0], stated[1], line)

    def take_line(self, segment: bytes) -> bool:
        """Takes a line of numbers without step and epoch, if it is a row of the step that the bar above it counts. True
        if so."""
        if self._rows.step is not None and not self._by_bar.tell:
            return False  # others state their steps
        rows = self._by_bar.take(segment, self._rows.clock, self._rows.foretells)
        for row in rows or ():
            self._rows.add(*row)
        return rows is not None

    def know(self, steps: list[int]) -> None:
        """Takes the steps that a printed history lists as logged."""
        self._stepper.know(steps)
        self._add([])

    def plan(self, plan: Plan | None) -> None:
        """Takes the planned steps that the trainer states."""
        if plan is not None:
            self._add_counted(self._stepper.plan(plan))

    def hear(self, config: Mapping[str, object]) -> None:
        """Takes settings, which may state the planned steps."""
        self._said |= {key: config[key] for key in SAID if key in config}
        self.plan(plan_of(self._said))

    @property
    def waits(self) -> bool:
        return self._stepper.waits

    def settle(self, over: bool = True) -> None:
        """Gives steps to rows that are held back, as no line will state them: the log is `over`, or else quiet."""
        rows = self._stepper.settle(over)
        self._add_counted(rows)
        for step, *_ in rows:
            self._rows.passed(step)

    def take_numbers(self, painted: ProgressBar, text: bytes, line: int) -> None:
        """Takes the numbers after a bar."""
        time = self._rows.clock.before(text, stamp_before(text))
        said = text.decode("utf-8", "replace")
        outermost = self._numbers.outermost(painted, said)
        self._add_numbers(lambda: self._numbers_of(outermost, said, time, line), line)

    @property
    def _in_rounds(self) -> bool:
        """Whether bars count, or may count, the parts of iterations."""
        return self._rounds.sure or self._rounds.in_doubt

    def _numbers_of(self, painted: ProgressBar, text: str, time: float, line: int) -> list[BarRow]:
        """The rows that are known with a bar."""
        cells = postfix(text, painted.name) if self._rounds.concerns(painted) else {}
        if self._rows.step is not None and not (self._rounds.sure or self._gave):
            if self._rounds.in_doubt:
                self._rounds.beside = True
                self._doubtful, self._numbers = [], BarNumbers()
            if cells and self._rounds.beside:
                if painted.done >= painted.total:
                    self._skip(_BESIDE_STEPS, line, len(cells))
                return []
            cells = {}
        waits = bool(cells) and self._numbers.place(painted) is not None
        rounds = self._rounds.take(painted, cells, time, waits) if cells else None
        if rounds is not None and self._rounds.sure:
            self._doubtful = []
            return rounds
        rows = self._numbers.take(painted, text, time, line)
        if rounds is None:
            return rows
        self._doubtful += rows
        if not self._rounds.refuted and len(self._doubtful) < MOST_PARTS:
            return []
        self._rounds.refuted = True
        return self._undoubted()

    def _undoubted(self) -> list[BarRow]:
        rows, self._doubtful = self._doubtful, []
        return rows

    def newest(self) -> int:
        """The newest step of the log, from its rows or from the numbers that a bar shows now; -1 before the first."""
        told = self._rows.step
        shown = self._numbers.newest if told is None or self._numbers.tell else None
        return next((step for step in (shown, told) if step is not None), -1)

    def take_newest(self, rest: bytes, line: int) -> None:
        """Takes the numbers after the bar of an unfinished line: that line ends only when the bar is printed again."""
        painted = rest.rpartition(b"\r")[2].rstrip()
        if painted.endswith(b"]") and (shown := bar(painted)) is not None:
            self.take_numbers(shown, painted, line)

    def end(self) -> None:
        """Adds the last row of a full bar, as the lines that follow state their steps."""
        if self._in_rounds or self._rows.foretells:
            return
        for row in self._numbers.ended():
            self._gave = True
            self._rows.add(*row)

    def so_far(self, line: int, over: bool = False) -> None:
        """Takes what bars have shown until now as final. `over`: the log is over."""
        self._add_numbers(lambda: self._shown_so_far(over), line)

    def _shown_so_far(self, over: bool) -> list[BarRow]:
        if self._rounds.sure:
            return self._rounds.so_far()
        return [*self._undoubted(), *self._numbers.so_far()] if over or not self._rounds.in_doubt else []

    def _add(self, rows: list[Row]) -> None:
        """Gives counted rows the steps that are now known, then adds rows."""
        if placed := self._stepper.take_placed():
            self._rows.place(placed, self._stepper.counts)
        for row in rows:
            self._rows.add(*row)

    def _add_counted(self, rows: list[Row]) -> None:
        """Adds rows. If rows were counted, the plan may then give their steps."""
        self._add(rows)
        self._stepper.by_plan()
        self._add([])

    def _add_numbers(self, numbers: Callable[[], list[tuple[int, dict[str, float], float]]], line: int) -> None:
        """Adds the numbers that bars show, if nothing else states steps; else drops them."""
        if self._rows.step is None or self._numbers.tell or self._rounds.sure:
            for row in numbers():
                self._gave = True
                self._rows.add(*row)
        elif lost := self._numbers.drop():
            self._skip(_BESIDE_STEPS, line, lost)
