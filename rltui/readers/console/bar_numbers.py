"""Numbers that tqdm paints behind a progress bar: `[00:10<01:30, 1.0it/s, loss=0.3]`."""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.named_numbers import NUMBER, has_word, words
from rltui.readers.console.progress_bar import TRAINING, ProgressBar
from rltui.readers.number_text import unwrapped, value

_POSTFIX = lazy(rf"[,\[]\s*([^\W\d][\w/.@\- ]*)=({NUMBER.pattern})")
_ALGORITHM = lazy(r"(?<![A-Z])(?!LLM|GPU|CPU)[A-Z]{2}[A-Z+]{1,4}$")
"""What a loop is called by its algorithm: GRPO, RLOO, DPO."""
_EPOCH = lazy(r"(?i)^[^\d]*\bepoch[\s:#=\[(]*(\d{1,6})(?:\s*(?:/|of)\s*(\d{1,6}))?[\])]*(?:[\s\[(]*train\w*[\])]*)?$")
"""Name of a bar that counts the batches of one epoch."""
SURE = 64
"""Rows of such bars that wait: a line that states its step may follow, and several batches make a step."""

Row = tuple[int, dict[str, float]]


class BarNumbers:
    """They belong to the step that the bar shows; the last ones painted there count. `tell`: rows come from bars
    by now, whatever states steps."""

    def __init__(self) -> None:
        self.tell = False
        self._held: Row | None = None
        self._waiting: list[Row] = []
        self._first_epoch: int | None = None  # 0 or 1
        self._epoch: tuple[int, int | None] | None = None  # of what is held

    def take(self, painted: ProgressBar, text: str) -> list[Row]:
        """A bar was painted: the steps that are over now."""
        place = self.place(painted)
        cells = {} if place is None else postfix(text)
        if place is None or not cells:
            return []
        epoch = _epoch(painted)
        step, again = place[0], epoch is not None and epoch == self._epoch
        before, self._held, self._epoch = self._held, (step, cells), epoch
        self.tell |= epoch is None
        if before is not None and before[0] != step and not (again and step < before[0]):
            self._waiting.append(before)  # Lightning names the full bar after the next epoch before that begins
        return self._over() if self.tell or len(self._waiting) >= SURE else []

    def so_far(self) -> list[Row]:
        """Nothing follows for now: what is held back too."""
        return [*self._over(), self._held] if self._held is not None else []

    def drop(self) -> int:
        """Another line states its step: what waits is of batches. How many rows that were."""
        count = len(self._waiting) + (self._held is not None)
        self._waiting, self._held = [], None
        return count

    def _over(self) -> list[Row]:
        out, self._waiting, self.tell = self._waiting, [], True
        return out

    def place(self, painted: ProgressBar) -> tuple[int, int | None] | None:
        """The step that a bar shows and the planned ones, None if it counts something else. A bar of each epoch goes on
        from the one before."""
        if painted.nested:
            return None
        epoch = _epoch(painted)
        if epoch is None:
            known = painted.name in TRAINING or trains(painted.name)
            return (painted.done, painted.total) if known else None
        if self._first_epoch is None:
            self._first_epoch = min(epoch[0], 1)
        step = max(0, epoch[0] - self._first_epoch) * painted.total + painted.done
        return step, painted.total * epoch[1] if epoch[1] else None


def _epoch(painted: ProgressBar) -> tuple[int, int | None] | None:
    """Number of the epoch that a bar is of, and how many are planned."""
    found = _EPOCH.match(painted.name)
    if found is None or has_word(painted.name, words().evaluation):
        return None
    return int(found[1]), int(found[2]) if found[2] else None


def postfix(text: str) -> dict[str, float]:
    """Numbers by name behind a progress bar, if they are of training."""
    cells = {name.strip(): value(number) for name, number in _POSTFIX.findall(unwrapped(text))}
    return cells if any(has_word(name, words().training) for name in cells) else {}


def trains(name: str) -> bool:
    """Whether a progress bar of this name counts training steps."""
    if any(c.isdigit() for c in name) or has_word(name, words().evaluation):
        return False  # a bar within one of many rounds
    return has_word(name, words().counters) or "train" in name.lower() or _ALGORITHM.search(name) is not None
