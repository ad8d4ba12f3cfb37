"""Logs that print the numbers of a step above the line that states the step.

Numbers between two such lines look the same in both kinds of logs. The first line decides: numbers above it, in a log
that begins there, can have no other step. The same names must then be above each following step line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rltui.readers.console.layouts import as_slots
from rltui.readers.console.named_numbers import Slot
from rltui.readers.console.step_template import TemplateLine
from rltui.readers.name_words import has_word, measures, words

Cells = dict[str, float]


def stand_above(
    above: Mapping[str, float], between: Sequence[Sequence[str]], counts: Sequence[int], surely: bool = False
) -> bool:
    """Whether the numbers `above` the first step line belong to it. The same names of metrics must come last in each
    group `between` two step lines: other numbers may be left out of a group. `counts`: the steps; a log that was cut
    begins with a later count, so it cannot tell, unless it is `surely` not cut or its step lines end their steps."""
    wanted = {name for name in above if measures((name,))}
    if not wanted or not between:
        return False
    begins = surely or counts[0] <= max(1, counts[1] - counts[0])
    told = ([name for name in names if name in above or measures((name,))] for names in between)
    return begins and all(wanted <= set(names[-len(above) :]) <= above.keys() for names in told)


def ends_step(message: str) -> bool:
    """Whether a step line says that its step is over, so that nothing of it follows: `step 501 done`. With a colon at
    its end, something does."""
    return has_word(message, words().ends) and not message.rstrip().endswith(":")


class Ahead:
    """Numbers that wait for the step line below them, and their line numbers. `names`: the names of such numbers; empty
    while it is not known that this log has them. `of_block`: their step stands in a heading. `resumed`: a line above
    all steps says that the log begins there."""

    def __init__(self) -> None:
        self.resumed = self.of_block = False
        self.names: frozenset[str] = frozenset()
        self.cells: Cells = {}
        self.lines: tuple[int, ...] = ()

    def copy(self) -> Ahead:
        twin = Ahead()
        twin.names, twin.cells, twin.lines = self.names, dict(self.cells), self.lines
        twin.resumed, twin.of_block = self.resumed, self.of_block
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

    def wait(self, slots: Sequence[Slot]) -> bool:
        """Takes numbers below another line between two steps: they wait too. True if there are any."""
        more = {slot.name: slot.value for slot in slots if slot.name in self.names}
        self.cells |= more
        return bool(more)

    def go_on(self, slots: Sequence[Slot]) -> None:
        """Takes numbers below a step line: they wait for the next one."""
        self.cells, self.lines = {slot.name: slot.value for slot in slots if slot.name in self.names}, ()


def told_again(above: Mapping[str, float], between: Sequence[Sequence[str]]) -> Cells:
    """The numbers `above` the first step line without those that come only there, as settings do."""
    names = {name for names in between for name in names}
    return {name: x for name, x in above.items() if name in names}


def _may_stand_above(first: TemplateLine, between: Sequence[Sequence[str]]) -> Iterator[Cells]:
    """The numbers above the first step line that may belong to it: with those above words, if no number of a metric
    comes between two step lines that is not above the first; and those right above it."""
    told = told_again(first.above, between)
    if first.passed and told.keys() >= {name for names in between for name in names if measures((name,))}:
        yield told
    yield {name: x for name, x in told.items() if name not in first.passed}


def lead(lines: Sequence[TemplateLine], counter: int, ahead: Ahead) -> None:
    """Decides from the first step lines whether numbers between two of them belong to the lower one. If so, moves them
    there. `counter`: the place of the counter."""
    if ahead.names or len(lines) < 2 or not lines[0].above:
        return
    of_block = not lines[0].message
    between = [
        [slot.name for i, slot in enumerate(line.slots) if i != counter] if of_block else list(line.below)[::-1]
        for line in (lines if of_block else lines[:-1])
    ]
    if not of_block:  # other lines may stand between the numbers below a step line and those above the next
        between = [[*names, *below.above] for names, below in zip(between, lines[1:], strict=True)]
    counts = [int(line.slots[counter].value) for line in lines]
    surely = ahead.resumed or lines[0].ends or ends_step(lines[0].message)
    found = (above for above in _may_stand_above(lines[0], between) if stand_above(above, between, counts, surely))
    if (above := next(found, None)) is None:
        return
    ahead.names, ahead.cells, ahead.of_block = frozenset(above), above, of_block
    lines[0].lines = (*lines[0].above_lines, *lines[0].lines)
    for line in lines:
        if of_block:
            waiting, line.slots = line.slots, ahead.in_place(line.slots)
            ahead.go_on(waiting)
        else:
            own = {name: x for name, x in line.below.items() if name not in above}
            waited = {name: x for name, x in line.below.items() if name in above}
            if line is not lines[0]:
                ahead.cells = {**ahead.cells, **line.above}
                line.lines = (*line.above_lines, *line.lines)
            line.below, ahead.cells = {**ahead.cells, **own}, waited
