"""The dict lines of TRL and the HF Trainer: `{'loss': '0.0123', 'kl': '0.0021', ..., 'epoch': '0.02'}`.

The line names no step. tqdm writes it by blanking its bar, printing the line and painting the bar again, so the bar
painted next stands at the line's step. Where standard output is buffered (a pipe, a file) the lines come later and in
batches, but the blanked bars stay where they were: their positions, in order, are the steps of the lines.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from rltui.readers.console.prefix import ProgressBar
from rltui.readers.rows import number

HOLD = 20
"""Lines held back at most while no bar tells their steps; they are numbered from one then."""
HOLD_WITH_BAR = 5000
"""The same where a bar stands at the run's beginning: in W&B's output.log it stands apart from the lines, and only
its last position tells how far apart they are."""

_AHEAD = "loss/value_avg"
"""In the lines of TRL's PPO, which counts its step, logs it, and only then moves the bar."""

_STATED = ("global_step/max_steps", "iteration")
_CELL = re.compile(r"'([^']{1,300})': (?:'([^']*)'|([^,}\s]+))")
_ROW = re.compile(rb"^(?:\x1b\[[0-9;]*[A-Za-z])*(\{'.*'epoch': [^{}]*\})")


def cells(segment: bytes) -> dict[str, str] | None:
    """The cells of a segment that is such a line, values still as text; None for any other segment."""
    found = _ROW.match(segment)
    if found is None:
        return None
    text = found[1].decode("utf-8", "replace")
    return {key: quoted or bare for key, quoted, bare in _CELL.findall(text)}


def stated_step(line: dict[str, str]) -> tuple[int, int] | None:
    """Step and plan of a line that states them: ms-swift's `'global_step/max_steps': '3/100'`."""
    step, slash, total = next((line[key] for key in _STATED if key in line), "").partition("/")
    return (int(step), int(total)) if slash and step.isdecimal() and total.isdecimal() and len(total) < 16 else None


Row = tuple[int, dict[str, str]]


@dataclass(slots=True)
class Stepper:
    """Finds the step of each line; one per file. All methods return the lines whose step became known."""

    total: int = 0
    done: int = 0  # where the training's bar stands
    guessed: bool = False  # a line got its step by counting, or by the order of bars, not from the bar right behind it
    _shown: int = -1  # position of the newest bar that stood right behind a line
    _base: int = 0  # where the bar stood when this launch began
    _count: int = 0  # training lines of this launch that have their step
    _last: int = 0  # step of the newest of them
    _interval: int = 0  # steps between two of them
    _marks: deque[int] = field(default_factory=deque)  # positions of blanked bars whose line has not come yet
    _held: list[dict[str, str]] = field(default_factory=list)
    _at_blank: bool = False  # lines stand directly behind a blanked bar that was not painted again yet
    _batch: int = 0  # lines since a bar was painted
    _newest: dict[str, str] = field(default_factory=dict)

    def paint(self, bar: ProgressBar, blanked: bool) -> list[Row]:
        """A bar was painted, directly behind a blanked one or not."""
        if bar.name or bar.nested or not bar.total:
            return []
        if self._count and self.done == self.total > bar.total:
            return []  # an evaluation after the training
        out: list[Row] = []
        if self.total and (bar.total != self.total or bar.done < self.done):
            out = self.settle()
            self._interval = self._interval if bar.total == self.total else 0
            self._count, self._base, self._last = 0, bar.done, bar.done
            self._marks.clear()
        self.total, self.done = bar.total, bar.done
        if self._at_blank:
            if self._batch == 1:
                self._marks.clear()  # written at once, so older marks belong to no line
            self._marks.append(bar.done)
            self._shown = bar.done
        elif self._held and not self._marks:
            if bar.done == bar.total:
                self._guess()
        elif blanked:
            self._marks.append(bar.done)
        self._at_blank, self._batch = False, 0
        return out + self._release()

    def place(self, line: dict[str, str], blanked: bool) -> list[Row]:
        """A line was read, directly behind a blanked bar or not."""
        if line == self._newest:
            return []  # printed twice, by the bar's callback and by another
        self._newest = line
        self._held.append(line)
        self._batch += 1
        if self._batch == 1:
            self._at_blank = blanked
            if blanked:
                return []
        elif self._batch == 2 and not self._marks:
            self._at_blank = False  # no bar painted in between: the first one was not written at once either
        if len(self._held) >= (HOLD_WITH_BAR if self.total else HOLD):
            self._guess()
        return self._release()

    def settle(self) -> list[Row]:
        """The file ends here: all lines get the step they most likely have."""
        if not self._held:
            return []
        if self._at_blank and self._batch == 1:
            self._marks.clear()
            if not self._interval:
                self._marks.append(self.done)
        self._guess()
        self._at_blank = False
        return self._release()

    def _guess(self) -> None:
        """Without marks: as many steps apart as the bar's position allows."""
        if not self._interval:
            lines = self._count + sum(map(_trains, self._held))
            if not self._count and not self._base and self.done == self.total:
                self._base = self._last = self._resumed_at()
            self._interval = max(1, round((self.done - self._base) / max(1, lines)))

    def _resumed_at(self) -> int:
        """The step behind which this launch began, by its lines' epochs; 0 where they do not tell (rounded too
        coarsely) or it began at the start. W&B's copy of the console holds the bar's first and last position only."""
        epochs = [number(line.get("epoch", "")) for line in self._held if _trains(line)]
        known = [epoch for epoch in epochs if epoch is not None and epoch > 0]
        if len(known) < 2 or len(set(known)) < len(epochs) or known[-1] <= known[0]:
            return 0
        first = self.done * known[0] / known[-1]
        apart = (self.done - first) / (len(known) - 1)
        return round(first - apart) if first > 2 * apart else 0

    def _release(self) -> list[Row]:
        out: list[Row] = []
        for line in self._held:
            trains = _trains(line)
            if self._marks:
                mark = self._marked(trains)
                self.guessed |= mark != self._shown
                step = mark + (_AHEAD in line)
            elif self._interval and not self._at_blank:
                self.guessed = True
                step = self._last + self._interval * trains
            else:
                break
            if trains:
                if step > self._last:
                    self._interval = step - self._last
                    self._last = step
                self._count += 1
            out.append((step, line))
        if out:
            del self._held[: len(out)]
        return out

    def _marked(self, trains: bool) -> int:
        """The position of the blanked bar that belongs to the next line. Lines of training come at even distances; the
        blanked bar of an evaluation may not be seen."""
        following = self._last + self._interval
        if not trains and self._count and self._interval and self._marks[0] >= following:
            return self._last
        return self._marks.popleft()


def _trains(line: dict[str, str]) -> bool:
    return not any(key.startswith("eval_") for key in line)
