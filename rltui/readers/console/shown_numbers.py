"""When a loop sets the numbers that its bar shows, and of which step they are: `for step in bar: bar.set_postfix(..)`
sets those of the tenth step while the bar still counts nine, and a bar shows them until others are set."""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.readers.console.progress_bar import ProgressBar

MOST_BARS = 64
OFTEN = 2
"""Numbers that are set at more than one in so many counts are those of each step, even if they stay the same."""


class _Bar(Struct):
    """The newest state of the bars of one total."""

    newest: int  # count
    line: int
    bare: tuple[int, int] | None = None  # first and newest count without numbers
    numbers: dict[str, float] = field(default_factory=dict)


class ShownNumbers:
    """Takes the states of bars in their order. tqdm draws a bar once more, at the same count, if numbers are set; a
    loop may leave that out (`refresh=False`), and then they are seen as the bar counts on."""

    def __init__(self) -> None:
        self._bars: dict[int, _Bar] = {}  # by total: others begin and end inside the one that shows numbers
        self._of: int | None = None  # total of the bar that showed numbers newest
        self._begin()

    def _begin(self) -> None:
        self._drawn_again: bool | None = None  # whether setting them draws the bar again; None before the first time
        self._changed_at: int | None = None  # where they were newest set
        self._sets = self._counts = 0  # how often they were set, and how many counts were seen since the first time
        self._again = False  # the newest state was drawn at the count of the one before
        self.ahead = 0
        """The step of newly set numbers less the count of the bar: 1, 0 or -1. The second time that numbers are set may
        tell; then it holds for the first ones, too."""

    def bare(self, painted: ProgressBar, line: int) -> None:
        """Takes a bar without numbers."""
        before, done = self._bars.get(painted.total), painted.done
        same = before is not None and before.newest <= done and before.bare is not None
        first = before.bare[0] if same and before is not None and before.bare else done
        self._keep(painted, _Bar(done, line, (first, done)))

    def are_new(self, numbers: dict[str, float], painted: ProgressBar, line: int) -> bool:
        """Whether the numbers of a bar make a row: they were set since the state before, or are set at each step."""
        if self._of is not None and self._of < painted.total in self._bars:
            self._begin()  # what was learnt is of a bar inside this one
        self._of = painted.total
        before = self._bars.get(painted.total) or _Bar(-1, line)
        changed, again = numbers != before.numbers, painted.done == before.newest
        self._again = again
        self._keep(painted, replace(before, newest=painted.done, line=line))
        self._counts += not again
        if not changed:
            return not self._sets or (not self._drawn_again and not again and self._sets * OFTEN > self._counts)
        if self._drawn_again is None:
            self._drawn_again = again
            if again and before.bare is not None and before.bare[0] == painted.done:
                self.ahead = 1  # before the bar counted anything
        elif again and not self._drawn_again and painted.done < painted.total:
            if line != before.line:
                return False  # only as another line was printed: they come once more as the bar counts on
            self._drawn_again = True  # some counts were not drawn, as the bar counts too fast
            self.ahead = max(self.ahead, 0)
        if self._sets == 1 and self._changed_at is not None and not self.ahead:
            self.ahead = self._told(self._changed_at, painted.done, before.bare)
        self._sets, self._changed_at = self._sets + 1, painted.done
        self._bars[painted.total].numbers = dict(numbers)
        return True

    def _keep(self, painted: ProgressBar, state: _Bar) -> None:
        self._bars.pop(painted.total, None)
        self._bars[painted.total] = state
        if len(self._bars) > MOST_BARS:
            del self._bars[next(iter(self._bars))]

    def step(self, count: int, painted: ProgressBar) -> int:
        """The step of the numbers that were set newest; `count`: what the bar shows. A full one is drawn once more at
        its end."""
        full = painted.done >= painted.total
        return count if full and (self._again or self.ahead > 0) else max(0, count + self.ahead)

    def _told(self, first: int, second: int, bare: tuple[int, int] | None) -> int:
        """What the counts tell at which numbers were set for the first two times. `bare`: where the bar showed none."""
        apart = second - first
        if apart % OFTEN and not self._drawn_again and bare == (first - OFTEN, first - 1):
            return -1  # the first step showed none: its numbers were set after it was counted
        if apart < (2 if self._drawn_again else 3):
            return 0
        for ahead in (0, 1) if self._drawn_again else (0, -1):
            if first + ahead and not (first + ahead) % apart and not (second + ahead) % apart:
                return ahead
        return 0


class PartsOfSteps:
    """Tells bars that show numbers of a part of a step, as of its minibatches: they begin and end inside a bar that
    shows numbers, too, and counts at least as far."""

    def __init__(self) -> None:
        self._open: tuple[int, int] | None = None  # total and count of the bar that shows numbers, if it is not full
        self._ended = False  # one inside it ended since it was drawn

    def is_part(self, painted: ProgressBar) -> bool:
        """Whether the bar, which shows numbers, is of a part of a step."""
        full = painted.done >= painted.total
        if self._open is not None and painted.total < self._open[0] and not (self._ended and not full):
            self._ended |= full
            return True
        self._open, self._ended = None if full else (painted.total, painted.done), False
        return False
