"""The number of a line that counts the rounds of another one, whatever it is called: `[1/3] update 4/50`, `chunk 1 |
batch 3`. The other one begins again in each round."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from rltui.readers.console.named_numbers import Slot, is_whole
from rltui.readers.name_words import either, has_word


def rounds_beside(slots: list[Slot], counter: int) -> dict[int | str, int]:
    """The whole numbers before the counter of a line that may count its rounds, by their place. A number that counts
    launches, runs or processes does not."""
    whole = {place: slot for place, slot in enumerate(slots[:counter]) if is_whole(slot)}
    return {place: int(slot.value) for place, slot in whole.items() if _may_count_rounds(slot.name)}


def named_rounds(cells: Mapping[str, float]) -> dict[int | str, int]:
    """The whole numbers among the cells of a row that may count the rounds of its step, by their name."""
    return {name: int(x) for name, x in cells.items() if x.is_integer() and _may_count_rounds(name)}


def _may_count_rounds(name: str) -> bool:
    return not has_word(name, either("relaunches", "identities", "places", "training", "durations"))


def rounds_before(lines: list[list[Slot]], counter: int) -> int | None:
    """The place of the number that counts the rounds in several lines. It is one more in each line in which the counter
    begins again where it began, and stands in all others. None if there is none, or if it never began again."""
    counts = [line[counter].value for line in lines]
    again = [b < a for a, b in pairwise(counts)]
    if not any(again) or any(falls and count > counts[0] for falls, count in zip(again, counts[1:], strict=True)):
        return None
    rounds = [rounds_beside(line, counter) for line in lines]
    for place in range(counter):
        if all(place in one for one in rounds) and again == [b[place] - a[place] for a, b in pairwise(rounds)]:
            return place
    return None
