"""Logs that print the numbers of a step above the line that tells the step.

What stands between two such lines looks the same either way. It is told by the first: numbers above it, of a log that
begins there, have no other step, and the same names stand above each that follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rltui.readers.console.layouts import as_slots
from rltui.readers.console.name_words import measures
from rltui.readers.console.named_numbers import Slot
from rltui.readers.console.step_template import TemplateLine

Cells = dict[str, float]


def stand_above(above: Mapping[str, float], between: Sequence[Sequence[str]], counts: Sequence[int]) -> bool:
    """Whether numbers `above` the first of these steps are of it, as those of the same names right above each other one
    are, the last `between` two of them. A log that was cut begins with a later count."""
    if not above or not between or not measures(above):
        return False
    begins = counts[0] <= max(1, counts[1] - counts[0])
    return begins and all(set(names[-len(above) :]) == above.keys() for names in between)


class Ahead:
    """Numbers that wait for the step below them, and the lines that they stand in. `names`: of all that do; none while
    it is not known that there are such."""

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()
        self.cells: Cells = {}
        self.lines: tuple[int, ...] = ()

    def copy(self) -> Ahead:
        twin = Ahead()
        twin.names, twin.cells, twin.lines = self.names, dict(self.cells), self.lines
        return twin

    def keep(self, cells: Mapping[str, float], line: int) -> Cells:
        """Keeps those that wait; the others are given back."""
        mine = {name: x for name, x in cells.items() if name in self.names}
        if mine:
            self.cells |= mine
            self.lines = (*self.lines, line)
        return {name: x for name, x in cells.items() if name not in mine}

    def take(self) -> tuple[Cells, tuple[int, ...]]:
        """What waited for the step that comes now."""
        taken = self.cells, self.lines
        self.cells, self.lines = {}, ()
        return taken

    def in_place(self, slots: Sequence[Slot]) -> list[Slot]:
        """The numbers of a step with those that waited for it in place of those that wait for the next one."""
        return [*(slot for slot in slots if slot.name not in self.names), *as_slots(self.cells)]

    def go_on(self, slots: Sequence[Slot]) -> None:
        """These stand below a step: they wait for the next."""
        self.cells = {slot.name: slot.value for slot in slots if slot.name in self.names}


def lead(lines: Sequence[TemplateLine], counter: int, ahead: Ahead) -> None:
    """The first lines that tell steps, `counter` the place of what counts: the numbers below each may be those above
    the next."""
    if ahead.names or len(lines) < 2 or not lines[0].above:
        return
    above, of_block = lines[0].above, not lines[0].message
    below = [
        [slot.name for i, slot in enumerate(line.slots) if i != counter] if of_block else list(line.below)[::-1]
        for line in (lines if of_block else lines[:-1])
    ]
    if not stand_above(above, below, [int(line.slots[counter].value) for line in lines]):
        return
    ahead.names, ahead.cells = frozenset(above), above
    lines[0].lines = (*lines[0].above_lines, *lines[0].lines)
    for line in lines:
        if of_block:
            waiting, line.slots = line.slots, ahead.in_place(line.slots)
            ahead.go_on(waiting)
        else:
            own = {name: x for name, x in line.below.items() if name not in above}
            waited = {name: x for name, x in line.below.items() if name in above}
            line.below, ahead.cells = {**ahead.cells, **own}, waited
