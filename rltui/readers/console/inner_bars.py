"""Bars of another length that come before a training's bar reaches its end: those of an evaluation in between, or of
another training.

Terminal codes show that a bar is drawn below another one, but many logs are stored without them. So what follows
decides: the training's bar goes on after an evaluation, and another training has its lines between positions of its own
bar. Until then nothing is taken.
"""

from __future__ import annotations

from collections import deque

from msgspec import Struct, field

from rltui.readers.console.progress_bar import ProgressBar


class SeenMeanwhile(Struct, frozen=True):
    """A bar or a line, whichever is not None. `blanked`: it came directly after a cleared bar."""

    bar: ProgressBar | None
    line: dict[str, str] | None
    blanked: bool
    time: float = 0.0


class InnerBars(Struct):
    """What was seen since such a bar came. `done`: total -> newest position, as a second training may have evaluations
    too. `lined`: the positions at the newest line of a training. `lines`: how many lines came."""

    done: dict[int, int] = field(default_factory=dict)
    lined: dict[int, int] = field(default_factory=dict)
    lines: int = 0
    seen: list[SeenMeanwhile] = field(default_factory=list)

    def paint(self, bar: ProgressBar, blanked: bool) -> bool:
        """Takes a bar. Returns whether it is another training's: it went on after a line."""
        if bar.done > self.lined.get(bar.total, bar.total):
            return True
        if bar.done < self.done.get(bar.total, 0):
            self.lined.pop(bar.total, None)
        self.done[bar.total] = bar.done
        last = self.seen[-2:]
        if len(last) == 2 and all(one.bar and one.bar.total == bar.total and not one.blanked for one in last):
            del self.seen[-1]  # the first and the last of several bars without a line between them are enough
        self.seen.append(SeenMeanwhile(bar, None, blanked))
        return False

    def place(self, line: dict[str, str], blanked: bool, time: float, trains: bool) -> None:
        """Takes a line. `trains`: it is one of a training."""
        self.seen.append(SeenMeanwhile(None, line, blanked, time))
        self.lines += 1
        if trains:
            self.lined = self.done.copy()

    def is_evaluation(self, total: int) -> bool:
        """Whether all bars are like those of evaluations within a training of `total` steps: shorter, and at their
        end."""
        return all(done == steps < total for steps, done in self.done.items())


class Later(Struct):
    """A bar after the end of a training: its newest position, and those at which it was cleared since it began."""

    total: int = 0
    done: int = 0
    marks: deque[int] = field(default_factory=deque)

    def paint(self, bar: ProgressBar, blanked: bool) -> None:
        if bar.total != self.total or bar.done < self.done:
            self.marks.clear()
        self.total, self.done = bar.total, bar.done
        if blanked:
            self.marks.append(bar.done)
