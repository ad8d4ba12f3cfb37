"""The dict lines of TRL and the HF Trainer: `{'loss': '0.0123', 'kl': '0.0021', ..., 'epoch': '0.02'}`.

The line names no step. tqdm writes it like this: it clears its bar, prints the line and prints the bar again. So the
next bar shows the line's step. If standard output is buffered (a pipe, a file), the lines come later and in batches,
but the cleared bars stay where they were: their positions, in order, are the steps of the lines. A log collector may
drop the cleared bars. If then each line is alone between bars, nothing was buffered, and the bar after a line shows its
step; or the bar above it does, if that is so from the first line on.
"""

from __future__ import annotations

from collections import deque

from msgspec import Struct, field

from rltui.lazy_regex import lazy
from rltui.readers.console.inner_bars import InnerBars, Later
from rltui.readers.console.lead import plain, split_lead
from rltui.readers.console.notes import split_prefix
from rltui.readers.console.planned_steps import Plan, rise_alike, steps_of
from rltui.readers.console.progress_bar import ProgressBar
from rltui.readers.number_text import shown_plainly
from rltui.readers.row_kinds import of_training
from rltui.readers.rows import number

HOLD = 20
"""Most lines that are held back while no bar tells their steps. After that they are counted, until a bar tells."""
LONGEST_LEAD = 200
"""Most bytes that logging may put before a line."""
ENOUGH = 8
"""With at least this many lines, their number and the position of an unfinished bar tell the interval between lines."""

FEW = 3
"""Fewest lines of a finished file in which each line has its own bar."""

SAME = 0.5
"""Lines of one training share at least this part of the names in both: SFT logs six of those that GRPO logs, of 20."""

_AHEAD = "loss/value_avg"
"""A key in the lines of TRL's PPO, which counts its step, logs it, and only then moves the bar."""

_PLAIN = ("step", "global_step")
_STATED = ("global_step/max_steps", "iteration")
_CELL = lazy(r"'([^']{1,300})': ?(?:'([^']*)'|([^,}\s]+))")
_ROW = lazy(rb"(?:\x1b\[[0-9;]*[A-Za-z])*(\{'.*'epoch': [^{}]*\})")
_NEXT = lazy(rb"\}\s*(?=\{')")


def cells(segment: bytes) -> tuple[dict[str, str], int] | None:
    """The cells of such a line (values still as text), and where they begin; None for any other segment."""
    found = _ROW.match(segment)
    if found is None and (at := segment.find(b"{'", 1, LONGEST_LEAD)) > 0 and (row := _ROW.match(segment, at)):
        before = plain(split_prefix(segment[:at].decode("utf-8", "replace") + "{")[1])
        rank, _, message, _ = split_lead(before)
        found = row if message == "{" and rank in ("", "0") else None
    if found is None:
        return None
    text = shown_plainly(found[1].decode("utf-8", "replace"))
    return {key: quoted or bare for key, quoted, bare in _CELL.findall(text)}, found.start(1)


def first_of_several(segment: bytes) -> int:
    """Where the second of several such lines begins that stand in one line of the log, as in a text whose line ends
    were lost; 0 if there is one at most."""
    if segment.count(b"'epoch'") < 2 or (found := _NEXT.search(segment)) is None:
        return 0
    both = b"'epoch'" in segment[: found.start()] and b"'epoch'" in segment[found.end() :]
    return found.end() if both else 0


def stated_step(line: dict[str, str]) -> tuple[int, int | None] | None:
    """Step and planned steps (None: not stated) of a line that states them, as in ms-swift's
    `'global_step/max_steps': '3/100'`; None for any other line. A plain `step` is removed from the line."""
    step, slash, total = next((line[key] for key in _STATED if key in line), "").partition("/")
    if slash and step.isdecimal() and total.isdecimal() and len(total) < 16:
        return int(step), int(total)
    key = next((key for key in _PLAIN if key in line), None)
    if key is None or not line[key].isdecimal() or len(line[key]) > 15:
        return None
    return int(line.pop(key)), None


Row = tuple[int, dict[str, str], float]
"""Step, cells and time."""


class Stepper(Struct):
    """Finds the step of each line; one per file. Methods that return rows give those whose step became known."""

    total: int = 0
    done: int = 0  # position of the training's bar
    guessed: bool = False  # a line got its step by counting or by the order of bars, not from the bar right after it
    _shown: int = -1  # position of the newest bar right after a line
    _base: int = 0  # position of the bar when this launch began
    _count: int = 0  # training lines of this launch that have their step
    _last: int = 0  # step of the newest of them
    _interval: int = 0  # steps between two of them
    _marks: deque[int] = field(default_factory=deque)  # positions of cleared bars whose line has not come yet
    _held: list[tuple[dict[str, str], float]] = field(default_factory=list)  # with their times
    _at_blank: bool = False  # lines came directly after a cleared bar that was not printed again yet
    _waited: bool = False  # the log was quiet after such a line
    _batch: int = 0  # lines since the last bar
    _between: int = 0  # training lines since the last bar
    _behind: list[int] = field(default_factory=list)  # positions of bars that came after exactly one training line
    _above: list[int] = field(default_factory=list)  # positions of bars right before a training line
    _newest: dict[str, str] = field(default_factory=dict)
    _placed: dict[int, int] = field(default_factory=dict)
    _counting: bool = False
    _counted: list[int] = field(default_factory=list)  # counts that training lines of this launch got instead of steps
    _epochs: list[float | None] = field(default_factory=list)  # epochs of the training lines of this launch
    _plan: Plan | None = None  # the plan that the trainer stated
    _planned: list[int] = field(default_factory=list)  # steps that lines of this launch got from it, without a bar
    _lost: bool = False  # lines of an earlier launch never got their steps
    _keys: frozenset[str] = frozenset()  # names in the newest training line
    _reached: float | None = None  # epoch at which the training before this launch was over
    _later: Later = field(default_factory=Later)  # bars after the end of the training
    _inner: InnerBars | None = None  # bars of another length before the end of the training, and what came since
    _first: bool = False  # the first step of this launch has a line, whatever the interval
    _begins: bool = False  # the next line is that of the first step
    _launched: bool = False  # a line told that a program ended or began, since the newest bar

    @property
    def counts(self) -> bool:
        """Whether lines are counted, as nothing tells their steps."""
        return self._lost or bool(self._counted)

    @property
    def waits(self) -> bool:
        """Whether a line waits for a bar that is about to be printed."""
        return bool(self._held) and self._waited

    def take_placed(self) -> dict[int, int]:
        """Count -> step, for counted lines whose step has become known; given once."""
        placed, self._placed = self._placed, {}
        return placed

    @staticmethod
    def looks_at(bar: ProgressBar) -> bool:
        """Whether a bar may be the training's."""
        return bool(bar.total) and not (bar.name or bar.nested)

    def launched(self) -> None:
        """Takes a line that tells that a program ended or another began."""
        self._launched = True

    def paint(self, bar: ProgressBar, blanked: bool) -> list[Row]:
        """Takes a bar that may be the training's. `blanked`: it came directly after a cleared one."""
        if self._inner is not None:
            if bar.total == self.total or self._launched:
                launched, out = self._launched, self._go_on(of_another=False)
                self._launched = launched
                return out + self.paint(bar, blanked)
            return self._go_on(of_another=True) + self.paint(bar, blanked) if self._inner.paint(bar, blanked) else []
        if self._count and self.done == self.total > bar.total:
            self._later.paint(bar, blanked)
            return []  # an evaluation after the training, unless a line tells that another training began
        if self.total and bar.total != self.total and self.done and not self._launched:
            self._inner = InnerBars()
            self._inner.paint(bar, blanked)
            return []
        self._launched = False
        return self._paint(bar, blanked)

    def _go_on(self, of_another: bool) -> list[Row]:
        """Takes what came with bars of another length, which are an evaluation's or `of_another` training."""
        if self._inner is None:
            return []
        seen, self._inner, self._launched = self._inner.seen, None, of_another
        out: list[Row] = []
        for one in seen:
            if one.line is not None:
                out += self.place(one.line, one.blanked, one.time)
            elif one.bar is not None and of_another:
                out += self.paint(one.bar, one.blanked)
        return out

    def _decide(self) -> list[Row]:
        """Takes what came with bars of another length, as nothing more tells what they are."""
        inner = self._inner
        if inner is None:
            return []
        return self._go_on(len(self._marks) < inner.lines and not inner.is_evaluation(self.total))

    def _paint(self, bar: ProgressBar, blanked: bool) -> list[Row]:
        out: list[Row] = []
        if self.total and (bar.total != self.total or bar.done < self.done):
            out = self.settle()
            over = bar.total != self.total and self.done == self.total
            self._reached = next((e for e in reversed(self._epochs) if e is not None), None) if over else None
            self._interval = self._interval if bar.total == self.total else 0
            self._lost |= bool(self._counted)
            self._count, self._base, self._last = 0, bar.done, bar.done
            self._counting, self._counted, self._epochs, self._behind, self._above = False, [], [], [], []
            self._marks.clear()
        self.total, self.done = bar.total, bar.done
        if self._at_blank:
            if self._batch == 1:
                self._marks.clear()  # the line was not buffered, so older marks belong to no line
            self._marks.append(bar.done)
            self._shown = bar.done
        elif (self._held or self._counted) and not self._marks:
            ended, between = bar.done == bar.total, self._between
            if between == 1:
                self._behind.append(bar.done)
            if not self._interval and (apart := self._alone() or self._apart(ended, ended and between > 0)):
                self._place(apart)
        elif blanked:
            self._marks.append(bar.done)
        self._at_blank, self._batch, self._between = False, 0, 0
        return out + self._release()

    def place(self, line: dict[str, str], blanked: bool, time: float) -> list[Row]:
        """Takes a line with its `time`. `blanked`: it came directly after a cleared bar."""
        if self._inner is not None:
            trains = of_training(line)
            self._inner.place(line, blanked, time, trains)
            known = self._count or self._held or self._marks  # the bar before is that of a training
            return self._decide() if self._inner.lines >= HOLD or (trains and not known) else []
        if line == self._newest:
            return []  # printed twice, by the callback of the bar and by another one
        self._newest = line
        out: list[Row] = []
        if of_training(line):
            epoch = number(line.get("epoch", ""))
            out = self._begin_anew() if self._of_another(line, epoch) else self._go_back(epoch)
            if self._reached is not None and not self._epochs and epoch is not None and epoch < self._reached:
                self._base = self._last = 0  # another training: it began before its first bar that is known
            self._keys = frozenset(line)
            self._epochs.append(epoch)
            self._between += 1
            if self._between == 1 and self.total:
                self._above.append(self.done)
        self._held.append((line, time))
        self._waited = False
        self._batch += 1
        if self._batch == 1:
            self._at_blank = blanked
            if blanked:
                return out
        elif self._batch == 2 and not self._marks:
            self._at_blank = False  # no bar in between, so the first line was buffered too
        if len(self._held) >= HOLD:
            self._counting = not self._marks and not self._interval
        return out + self._release()

    def plan(self, plan: Plan) -> list[Row]:
        """Takes the planned steps that the trainer states, as it begins or when it is done."""
        self._plan = plan
        if plan.over and self._counted and self.done == self.total and (apart := self._apart(True, True)):
            self._place(apart)  # the last line came after the last bar
        if not plan.over or self._marks or self._interval or self.total:
            return []
        self._counting = True
        return self._release()

    @property
    def asks_plan(self) -> bool:
        """Whether enough lines were counted that the plan may tell their steps."""
        return self._plan is not None and bool(self._counted) and len(self._counted) % HOLD == 0

    def by_plan(self) -> None:
        """Gives counted lines the steps that fit the plan, if only one set of steps fits."""
        if self._plan is None or self._marks or self._interval or self.total or not self._counted:
            return
        if len(self._counted) == len(self._epochs) and (steps := steps_of(self._epochs, self._plan)) is not None:
            self.know(steps)
            self._planned = steps

    def _of_another(self, line: dict[str, str], epoch: float | None) -> bool:
        """Whether another training begins with this line, as one script trains by SFT and then by RL: its epoch is
        below the one before, and its names are others, or that training was over and it starts from scratch."""
        before = next((one for one in reversed(self._epochs) if one is not None), None)
        if epoch is None or before is None or epoch >= before:
            return False
        first = next(one for one in self._epochs if one is not None)
        over = (self._plan is not None and self._plan.over) or (self._count > 0 and self.done == self.total > 0)
        return (over and epoch <= first) or len(self._keys & set(line)) < SAME * len(self._keys | set(line))

    def _begin_anew(self) -> list[Row]:
        """Forgets the training before, whose lines get their steps now."""
        out = self.settle()
        later, self._later = self._later, Later()
        self.total, self.done, self._marks = later.total, later.done, later.marks
        self._base = self._count = self._last = self._interval = self._between = 0
        self._counted, self._epochs, self._planned, self._behind, self._above = [], [], [], [], []
        self._counting, self._plan = False, None
        return out

    def _go_back(self, epoch: float | None) -> list[Row]:
        """Handles a new launch if no bar tells the steps: an epoch below the one before shows that one began. It goes
        on after the newest line of an earlier epoch."""
        before = next((known for known in reversed(self._epochs) if known is not None), None)
        told = self._interval and not self._planned
        if self._marks or told or self.total or epoch is None or before is None or epoch >= before:
            return []
        self._counting = not self._planned
        out = self._release()
        kept = sum(1 for known in self._epochs if known is not None and known < epoch)
        steps = self._planned[:kept] or self._counted[:kept]
        del self._epochs[kept:], self._counted[kept:]
        if self._planned and not kept:  # it starts from the beginning, and may log at other steps
            self._interval, self._counting, self._plan = 0, True, None
        self._planned = self._planned[:kept]
        self._count, self._last = kept, steps[-1] if steps else 0
        return out

    def know(self, steps: list[int]) -> None:
        """Takes the steps of this launch's training lines from a printed history: counted lines get theirs."""
        if not self._counted or len(steps) < len(self._counted) or steps != sorted(set(steps)):
            return
        self._placed |= dict(zip(self._counted, steps, strict=False))
        self._last = steps[len(self._counted) - 1]
        self._interval = self._last - steps[len(self._counted) - 2] if len(self._counted) > 1 else self._last
        self._counting, self._counted = False, []

    def settle(self, over: bool = True) -> list[Row]:
        """Gives all held lines their most likely step, as the file ends here. If it is not `over`, a line after a
        cleared bar waits once for the bar to be printed again."""
        decided = self._decide() if over and self._inner is not None and self._inner.lines else []
        rows = self._settle(over)
        steps = {step: self._placed[step] for step, *_ in decided if step in self._placed}
        for step, line, _ in decided:
            if of_training(line):
                self._placed.pop(step, None)  # its row gets the step at once
        return [(steps.get(step, step), line, time) for step, line, time in decided] + rows

    def _settle(self, over: bool) -> list[Row]:
        if over and self._counted and not self._held and self.done == self.total:
            self._guess()  # lines may come later than the last bar
        if not self._held:
            return []
        if not over and self._at_blank and self._batch == 1 and not self._waited:
            self._waited = True
            return []
        if self._at_blank and self._batch == 1:
            self._marks.clear()
            if not self._interval or (not self._count and self.done > self._base):
                self._marks.append(
                    self.done
                )  # a launch begins at the position of its bar, not one interval after the earlier one
        self._guess()
        self._at_blank = False
        out = self._release()
        self._counting |= bool(self._held)  # fewer bars than lines
        return out + self._release()

    def _guess(self) -> None:
        """Without marks: uses the interval that fits the position of the bar and the number of lines, if only one does.
        Else the lines are counted."""
        if self._interval or self._marks:
            return
        apart = self._alone(FEW) or self._apart(self.done == self.total, True)
        if apart:
            self._place(apart)
        elif self._held:
            self._counting = True

    def _apart(self, ended: bool, all_written: bool) -> int:
        """The only interval of the lines that fits the bar, as lines are never ahead of it; 0 if none or several fit.
        `ended`: the bar is at its end. `all_written`: no line of a step that it has passed is still to come. It also
        tells whether the first step has a line, whatever the interval: epochs that rise otherwise refute it."""
        lines = self._count + sum(of_training(line) for line, _ in self._held)
        if not self._base and ended and self._count == len(self._counted):
            self._base = self._resumed_at()
        done = self.done - self._base
        for first in (False, True)[: 1 if self._base else 2]:
            n = lines - first
            most = done // max(1, n)
            only = most * (n + 1) > done >= (most - 1) * (n + 1)
            sure = only and all_written and (ended or n >= max(ENOUGH, most))
            if most > first and (most == 1 or sure) and self._rise_alike(lines, most, first):
                self._first = first
                return most
        return 0

    def _rise_alike(self, lines: int, apart: int, first: bool) -> bool:
        """Whether the epochs of this launch rise as steps of this interval do."""
        steps = [self._base + apart * (i - first) if i > 1 or not first else 1 for i in range(1, lines + 1)]
        return len(self._epochs) != lines or rise_alike(steps, self._epochs)

    def _alone(self, enough: int = ENOUGH) -> int:
        """The interval of the bars, if there is one after each line or one above each, evenly from the launch on. Else
        0: buffered lines come several at once."""
        lines = self._count + sum(of_training(line) for line, _ in self._held)
        for bars in (self._behind, self._above):
            apart = bars[0] - self._base if bars else 0
            even = all(at == self._base + apart * i for i, at in enumerate(bars, 1))
            if even and apart and lines == len(bars) >= enough:
                return apart
        return 0

    def _place(self, apart: int) -> None:
        """Sets the interval between training lines of this launch: counted lines get their steps."""
        first, self._first = self._first, False
        steps = [self._base + apart * max(0, i - first) for i in range(self._count + 1)]
        if first and not self._count:
            self._begins = True
        elif first:
            steps[1] = 1
        self._placed |= {count: steps[i] for i, count in enumerate(self._counted, 1)}
        self._interval, self._last = apart, steps[self._count]
        self._counting, self._counted = False, []

    def _resumed_at(self) -> int:
        """The step after which this launch began, by the epochs of its lines; 0 if it began at the start or they are
        rounded too coarsely. Needed as W&B's copy of the console holds only the first and last position of the bar."""
        known = [epoch for epoch in self._epochs if epoch is not None and epoch > 0]
        if len(known) < 2 or len(set(known)) < len(self._epochs) or known[-1] <= known[0]:
            return 0
        first = self.done * known[0] / known[-1]
        apart = (self.done - first) / (len(known) - 1)
        return round(first - apart) if first > 2 * apart else 0

    def _release(self) -> list[Row]:
        out: list[Row] = []
        for line, time in self._held:
            trains = of_training(line)
            if trains and not self._marks and self._interval and self._last <= self.total < self._last + self._interval:
                self._interval, self._counting, self._lost = 0, True, True  # no step is behind the last one
            if self._marks:
                apart, rest = divmod(self._marks[0] - self._base, self._count + 1)
                if self._counted and trains and apart > 0 and not rest:
                    self._place(apart)
                self._counting = False
                mark = self._marked(trains)
                self.guessed |= mark != self._shown
                step = mark + (_AHEAD in line)
            elif self._interval and not self._at_blank:
                self.guessed = True
                step = 1 if self._begins and trains else self._last + self._interval * trains
            elif self._counting and not self._at_blank:
                self.guessed = True
                step = self._last + trains
                if trains:
                    self._counted.append(step)
            else:
                break
            if trains and self._begins:
                self._begins, self._count = False, self._count + 1
            elif trains:
                if step > self._last:
                    goes_on = not self._count and self._interval and not self._counting
                    if goes_on:  # a later launch: the bar began at 0, the steps did not
                        self._base = step - self._interval
                    else:
                        self._interval = 0 if self._counting else step - self._last
                    self._last = step
                self._count += 1
            out.append((step, line, time))
        if out:
            del self._held[: len(out)]
        return out

    def _marked(self, trains: bool) -> int:
        """The position of the cleared bar that belongs to the next line. Training lines come at even intervals; the
        cleared bar of an evaluation may be missing."""
        following = self._last + self._interval
        if not trains and self._count and self._interval and self._marks[0] >= following:
            return self._last
        return self._marks.popleft()
