"""Numbers that tqdm paints behind a progress bar: `[00:10<01:30, 1.0it/s, loss=0.3]`."""

from __future__ import annotations

from math import nan
from typing import NamedTuple

from rltui.lazy_regex import lazy
from rltui.readers.console.named_numbers import NUMBER, has_word, slots_of, words
from rltui.readers.console.progress_bar import TRAINING, ProgressBar
from rltui.readers.keys import MAX_STEP, first_of
from rltui.readers.number_text import unwrapped, value

_POSTFIX = lazy(rf"[,\[]\s*([^\W\d][\w/.@\- ]*)=({NUMBER.pattern})")
_ALGORITHM = lazy(r"(?<![A-Z])(?!LLM|GPU|CPU)[A-Z]{2}[A-Z+]{1,4}$")
"""What a loop is called by its algorithm: GRPO, RLOO, DPO."""
_OF_TRAINING = lazy(r"(?i)(?:^train|(?:^|[\s_\-])training)$")
"""Name of a bar that counts nothing but training: what it shows is of that, whatever it is called."""
_EPOCH = lazy(r"(?i)^[^\d]*\bepoch[\s:#=\[(]*(\d{1,6})(?:\s*(?:/|of)\s*(\d{1,6}))?[\])]*(?:[\s\[(]*train\w*[\])]*)?$")
"""Name of a bar that counts the batches of one epoch."""
_EPISODE = lazy(r"(?i)^[^\d]*\bepisode[\s:#=\[(]*(\d{1,6})\s*(?:/|of)\s*(\d{1,6})[\])]*$")
"""Name of a bar that counts the batches of one of so many rounds through the prompts, as OpenRLHF calls them. Without
their number an episode may be one of a game."""
SURE = 64
"""Rows of such bars that wait: a line that states its step may follow, and several batches make a step."""

Row = tuple[int, dict[str, float], float]
"""Step, numbers and time of a row."""


class BarNumbers:
    """They belong to the step that they name, else to the one that the bar shows; the last ones painted there count.
    A loop over a bar names its numbers before the bar counts the step they are of: then the first ones count that are
    painted with a new count. `tell`: rows come from bars by now, whatever states steps."""

    def __init__(self) -> None:
        self.tell = False
        self._held: Row | None = None
        self._waiting: list[Row] = []
        self._first_epoch: int | None = None  # 0 or 1
        self._epoch: _Round | None = None  # of what is held
        self._outer: tuple[str, int] | None = None  # kind of the bars of rounds that count, batches the newest lacks
        self._bare: tuple[str, int, int] | None = None  # the newest bar without numbers: name, planned, first count
        self._early: bool | None = None  # numbers come before their count; None while there were none
        self._count: tuple[str, int] | None = None  # name and count of the newest bar with numbers

    def take(self, painted: ProgressBar, text: str, time: float = nan) -> list[Row]:
        """A bar was painted at that time: the steps that are over now."""
        described = _described(painted.name)
        if described:
            painted = painted._replace(name="")
        place = self.place(painted)
        cells = {} if place is None else postfix(text, painted.name) | described
        if place is None or not cells:
            if place is not None and (self._bare or ("", 0, 0))[:2] != (painted.name, painted.total):
                self._bare = painted.name, painted.total, painted.done
            return []
        epoch, counter = _round(painted), first_of("step", cells)
        if counter is not None and cells[counter].is_integer() and 0 <= cells[counter] < MAX_STEP:
            step = int(cells.pop(counter))
            self.tell = True
        else:
            step = self._step(painted, place[0])
        if not cells or (self._held is not None and self._held[1] == cells and step == place[0] + 1):
            return []  # none but a step, or painted once more below another line
        again = epoch is not None and epoch == self._epoch
        before, self._held, self._epoch = self._held, (step, cells, time), epoch
        self.tell |= epoch is None
        if before is not None and before[0] != step and not (again and step < before[0]):
            self._waiting.append(before)  # Lightning names the full bar after the next epoch before that begins
        return self._over() if self.tell or len(self._waiting) >= SURE else []

    def _step(self, painted: ProgressBar, shown: int) -> int:
        """The step that numbers are of which name none, beside the `shown` one."""
        bare = self._bare == (painted.name, painted.total, painted.done)
        if self._early is None:
            self._early = bare
        count, before, self._count = (painted.name, painted.done), self._count, (painted.name, painted.done)
        begins = before is None or (bare and before[0] != painted.name)
        return shown + 1 if self._early and (begins or count == before) and painted.done < painted.total else shown

    def so_far(self) -> list[Row]:
        """Nothing follows for now: what is held back too."""
        return [*self._over(), self._held] if self._held is not None else []

    @property
    def newest(self) -> int | None:
        """The step of the numbers that are shown now."""
        return None if self._held is None else self._held[0]

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
        epoch = _round(painted)
        if epoch is None:
            known = painted.name in TRAINING or trains(painted.name)
            return (painted.done, painted.total) if known else None
        if self._outer is not None and self._outer[0] != epoch.kind and self._outer[1] > 0:
            return None  # within a batch of the other: the epochs over the samples of one step
        self._outer = epoch.kind, painted.total - painted.done
        if self._first_epoch is None:
            self._first_epoch = min(epoch.number, 1)
        step = max(0, epoch.number - self._first_epoch) * painted.total + painted.done
        return step, painted.total * epoch.planned if epoch.planned else None


class _Round(NamedTuple):
    """The epoch or episode that a bar is of, and how many are planned."""

    kind: str
    number: int
    planned: int | None


def _round(painted: ProgressBar) -> _Round | None:
    """The round through the data that a bar is of."""
    for kind, name in (("epoch", _EPOCH), ("episode", _EPISODE)):
        found = name.match(painted.name)
        if found is not None and not has_word(painted.name, words().evaluation):
            return _Round(kind, int(found[1]), int(found[2]) if found[2] else None)
    return None


def _described(name: str) -> dict[str, float]:
    """The numbers that the name of a bar describes: `step 5 loss 0.31 reward 0.5`."""
    if sum(map(str.isdecimal, name)) < 2 or has_word(name, words().evaluation):
        return {}
    slots = [slot for slot in slots_of(name) if slot.name]
    about = any(has_word(slot.name, words().training) for slot in slots)
    return {slot.name: slot.value for slot in slots} if about else {}


def postfix(text: str, bar: str = "") -> dict[str, float]:
    """Numbers by name behind a progress bar, if they are of training by a name of theirs or by that of the bar."""
    cells = {name.strip(): value(number) for name, number in _POSTFIX.findall(unwrapped(text))}
    cells = {name: x for name, x in cells.items() if name not in words().bookkeeping}
    training = _OF_TRAINING.search(bar) or _ALGORITHM.search(bar)
    return cells if training or any(has_word(name, words().training) for name in cells) else {}


def trains(name: str) -> bool:
    """Whether a progress bar of this name counts training steps."""
    if any(c.isdigit() for c in name) or has_word(name, words().evaluation):
        return False  # a bar within one of many rounds
    return has_word(name, words().counters) or "train" in name.lower() or _ALGORITHM.search(name) is not None
