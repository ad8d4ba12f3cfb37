"""Lines that a number without a name counts, below the title of a round: `1 | reward 0.3`. They may be the steps of the
round or the answers of one step. It is a round of steps if it holds nothing else, and the next one begins alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rltui.readers.console.named_numbers import Slot
from rltui.readers.name_words import has_word, is_named, words

FEWEST = 3
"""Fewest lines of a round of steps."""
MOST = 130
"""After this many lines no other numbers of the round are waited for."""


class NumberedRows(Struct):
    """Takes the lines of one round after another."""

    are_steps: bool = False
    """Whether such lines below the title of a round are its steps."""
    _round: tuple[str, float] = ("", 0.0)  # name and count in the newest title
    _key: str = ""  # what the lines below have in common
    _names: frozenset[str] = frozenset()
    _newest: float = -1.0
    _stride: float = 0.0
    _lines: int = 0  # counted evenly from the beginning; -1: they are not

    def copy(self) -> NumberedRows:
        return replace(self)

    def begin(self, heading: Sequence[Slot]) -> None:
        """Takes the title of a round."""
        new = (heading[0].name.lower(), heading[0].value) if len(heading) == 1 else ("", 0.0)
        if new == self._round and self._lines > 0:
            return  # it says that the round is over
        self._round = new
        self._key, self._names, self._newest, self._stride, self._lines = "", frozenset(), -1.0, 0.0, 0

    def take(self, key: str, slots: Sequence[Slot]) -> bool:
        """Takes a line below it. Whether it may be a step of the round."""
        count = slots[0].value
        stride = count - self._newest
        if self._lines == 1 and stride > 0 and self._newest in (0, 1, stride):
            self._stride = stride
        goes_on = key == self._key and stride == self._stride > 0
        self._lines = self._lines + 1 if self._lines == 0 or (self._lines > 0 and goes_on) else -1
        self._key, self._newest = key, count
        self._names = frozenset(slot.name for slot in slots)
        return self._lines > 0 and self._of_round

    @property
    def _of_round(self) -> bool:
        return is_named(self._round[0], words().outer | {"epoch"})

    def ends(self, heading: Sequence[Slot], names: Collection[str]) -> bool:
        """Whether the lines so far were steps, as this title of the next round shows. `names`: those of the numbers
        that were taken for numbers of the round."""
        name, count = self._round
        following = len(heading) == 1 and heading[0].name.lower() == name and heading[0].value == count + 1
        return following and self._lines >= FEWEST and self._are_alone(names)

    def are_many(self, names: Collection[str]) -> bool:
        """Whether there are so many lines that these are the steps."""
        return self._lines >= MOST and self._are_alone(names)

    def _are_alone(self, names: Collection[str]) -> bool:
        return (
            self._of_round
            and {name for name in names if name.lower() != self._round[0] and not has_word(name, words().evaluation)}
            <= self._names
        )
