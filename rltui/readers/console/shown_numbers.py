"""When a loop sets the numbers that its bar shows, and of which step they are: `for step in bar: bar.set_postfix(..)`
sets those of the tenth step while the bar still counts nine, and a bar shows them until others are set."""

from __future__ import annotations

from rltui.readers.console.progress_bar import ProgressBar

OFTEN = 2
"""Numbers that are set at more than one in so many counts are those of each step, even if they stay the same."""


class ShownNumbers:
    """Takes the states of bars in their order. tqdm draws a bar once more, at the same count, if numbers are set; a
    loop may leave that out (`refresh=False`), and then they are seen as the bar counts on."""

    def __init__(self) -> None:
        self._newest: tuple[int, int] | None = None  # total and count of the newest bar of all
        self._bare: tuple[int, int] | None = None  # first and newest count without numbers
        self._numbers: dict[str, float] = {}
        self._drawn_again: bool | None = None  # whether setting them draws the bar again; None before the first time
        self._changed_at: int | None = None  # where they were newest set
        self._sets = self._counts = 0  # how often they were set, and how many counts were seen since the first time
        self._again = False  # the newest state was drawn at the count of the one before
        self.ahead = 0
        """The step of newly set numbers less the count of the bar: 1, 0 or -1. The second time that numbers are set may
        tell; then it holds for the first ones, too."""

    def bare(self, painted: ProgressBar) -> None:
        """Takes a bar without numbers."""
        at = painted.total, painted.done
        same = self._newest is not None and self._newest[0] == at[0] and self._newest[1] <= painted.done
        self._bare = (self._bare[0] if same and self._bare else painted.done), painted.done
        self._newest, self._numbers = at, {}

    def are_new(self, numbers: dict[str, float], painted: ProgressBar) -> bool:
        """Whether the numbers of a bar make a row: they were set since the state before, or are set at each step."""
        at, before = (painted.total, painted.done), self._newest
        changed, again = numbers != self._numbers, at == before
        self._again = again
        self._newest = at
        self._counts += not again
        if not changed:
            return not self._sets or (not self._drawn_again and not again and self._sets * OFTEN > self._counts)
        if self._drawn_again is None:
            self._drawn_again = again
            if again and self._bare is not None and self._bare[0] == painted.done:
                self.ahead = 1  # before the bar counted anything
        elif again and not self._drawn_again and painted.done < painted.total:
            return False  # only as another line was printed: they come once more as the bar counts on
        if self._sets == 1 and self._changed_at is not None and not self.ahead:
            self.ahead = self._told(self._changed_at, painted.done)
        self._sets, self._changed_at, self._numbers = self._sets + 1, painted.done, dict(numbers)
        return True

    def step(self, count: int, painted: ProgressBar) -> int:
        """The step of the numbers that were set newest; `count`: what the bar shows. A full one is drawn once more at
        its end."""
        full = painted.done >= painted.total
        return count if full and (self._again or self.ahead > 0) else max(0, count + self.ahead)

    def _told(self, first: int, second: int) -> int:
        """What the counts tell at which numbers were set for the first two times."""
        apart = second - first
        if apart == 1 and not self._drawn_again and self._bare == (0, first - 1) and first == OFTEN:
            return -1  # the first step showed none: its numbers were set after it was counted
        if apart < (2 if self._drawn_again else 3):
            return 0
        for ahead in (0, 1) if self._drawn_again else (0, -1):
            if not (first + ahead) % apart and not (second + ahead) % apart:
                return ahead
        return 0
