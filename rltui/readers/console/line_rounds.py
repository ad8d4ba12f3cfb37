"""The numbers that may count the rounds of a counter, whatever they are called: before the counter in its line, `[1/3]
update 4/50`, or in a title above, `=== shard 2 ===`. The counter begins again in each round."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from msgspec import Struct, field

from rltui.readers.console.named_numbers import NUMBER, Slot, is_whole, slots_of
from rltui.readers.console.outer_loops import LONGEST
from rltui.readers.name_words import either, has_word, measures

Rounds = dict[int | str, int]
"""The numbers that may count rounds, by their place in the line, their name, or the words of their title."""
TITLES = 16
"""Most titles above a step that are remembered."""
MOST = 100_000
"""No round has a higher number, but a job or process may have one."""


class RoundTitles(Struct):
    """The lines with a number right above the newest step that may be titles of a round: only those that were also
    above the first step."""

    newest: Rounds = field(default_factory=dict)  # never changed in place
    _first: Rounds | None = None  # those above the first step, once it came
    _told: bool = False  # the step below them came

    def take(self, message: str) -> bool:
        """Takes a line that is not a step line. Returns whether it may be a title."""
        slots = slots_of(message) if len(message) <= LONGEST else []
        if not 0 < len(slots) < 3 or not all(map(is_whole, slots)) or slots[0].value >= MOST:
            return False
        words = NUMBER.sub("#", message)
        if self._first is None:
            if not _may_count_rounds(message) or measures(slot.name for slot in slots) or len(self.newest) >= TITLES:
                return False
        elif words not in self._first:
            return False
        self.newest = {words: int(slots[0].value)} if self._told else {**self.newest, words: int(slots[0].value)}
        self._told = False
        return True

    def close(self) -> None:
        """Notes a step: titles that come now belong to the next one."""
        self._told = True
        if self._first is None:
            self._first = self.newest


def rounds_beside(slots: list[Slot], counter: int, titles: Rounds) -> Rounds:
    """The whole numbers that may count the rounds of a counter: those before it, and those of the titles above. A
    number that counts launches, runs or processes does not."""
    whole = {place: slot for place, slot in enumerate(slots[:counter]) if is_whole(slot)}
    return {place: int(slot.value) for place, slot in whole.items() if _may_count_rounds(slot.name)} | titles


def named_rounds(cells: Mapping[str, float], titles: Rounds) -> Rounds:
    """The same for the cells of a row that holds no text."""
    return {name: int(x) for name, x in cells.items() if x.is_integer() and _may_count_rounds(name)} | titles


def _may_count_rounds(name: str) -> bool:
    return not has_word(name, either("relaunches", "identities", "places", "training", "durations"))


def rounds_before(lines: list[list[Slot]], counter: int) -> int | None:
    """The place of the number that counts the rounds in several lines. It rises by one in each line in which the
    counter begins again where it began, and stays the same in all others. None if there is no such number, or if the
    counter never began again."""
    counts = [line[counter].value for line in lines]
    again = [b < a for a, b in pairwise(counts)]
    if not any(again) or any(falls and count > counts[0] for falls, count in zip(again, counts[1:], strict=True)):
        return None
    rounds = [rounds_beside(line, counter, {}) for line in lines]
    for place in range(counter):
        if all(place in one for one in rounds) and again == [b[place] - a[place] for a, b in pairwise(rounds)]:
            return place
    return None
