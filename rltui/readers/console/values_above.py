"""Logs that print the numbers of a step above the line that states the step.

Numbers between two such lines look the same in both kinds of logs. The first line decides: numbers above it, in a log
that begins there, can have no other step. The same names must then be above each following step line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rltui.readers.console.layouts import as_slots
from rltui.readers.console.named_numbers import Slot
from rltui.readers.console.step_template import TemplateLine
from rltui.readers.name_words import measures

Cells = dict[str, float]


def stand_above(above: Mapping[str, float], between: Sequence[Sequence[str]], counts: Sequence[int]) -> bool:
    """Whether the numbers `above` the first step line belong to it. The same names of metrics must come last in each
    group `between` two step lines: other numbers may be left out of a group. `counts`: the steps; a log that was cut
    begins with a later count, so it cannot tell."""
    wanted = {name for name in above if measures((name,))}
    if not wanted or not between:
        return False
    begins = counts[0] <= max(1, counts[1] - counts[0])
    told = ([name for name in names if name in above or measures((name,))] for names in between)
    return begins and all(wanted <= set(names[-len(above) :]) <= above.keys() for names in told)


class Ahead:
    """Numbers that wait for the step line below them, and their line numbers. `names`: the names of such numbers; empty
    while it is not known that this log has them."""

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()
        self.cells: Cells = {}
        self.lines: tuple[int, ...] = ()

    def copy(self) -> Ahead:
        twin = Ahead()
        twin.names, twin.cells, twin.lines = self.names, dict(self.cells), self.lines
        return twin

    def keep(self, cells: Mapping[str, float], line: int) -> Cells:
        """Keeps the numbers that wait. Returns the others."""
        mine = {name: x for name, x in cells.items() if name in self.names}
        if mine:
            self.cells |= mine
            self.lines = (*self.lines, line)
        return {name: x for name, x in cells.items() if name not in mine}

    def take(self) -> tuple[Cells, tuple[int, ...]]:
        """The numbers that waited for the current step, and their line numbers."""
        taken = self.cells, self.lines
        self.cells, self.lines = {}, ()
        return taken

    def in_place(self, slots: Sequence[Slot]) -> list[Slot]:
        """The numbers of a step: those that wait for the next step are replaced by those that waited for this one."""
        return [*(slot for slot in slots if slot.name not in self.names), *as_slots(self.cells)]

    def go_on(self, slots: Sequence[Slot]) -> None:
        """Takes numbers below a step line: they wait for the next one."""
        self.cells = {slot.name: slot.value for slot in slots if slot.name in self.names}


def lead(lines: Sequence[TemplateLine], counter: int, ahead: Ahead) -> None:
    """Decides from the first step lines whether numbers below each belong to the next. If so, moves them there.
    `counter`: the place of the counter."""
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
