"""The names in lines that name their step: a line with new ones may come from a sentence, a table or a part of a
step."""

from __future__ import annotations

from collections.abc import Callable, Collection

from rltui.readers.console.line_pairs import MAX_BLOCK
from rltui.readers.console.plain_lines import counts_within
from rltui.readers.console.step_block import StepBlock
from rltui.readers.name_words import measures


class StatedNames:
    """It must get the lines in file order. `so_far` gives the names in all rows of the log."""

    def __init__(self, so_far: Callable[[], Collection[str]]) -> None:
        self._names_so_far = so_far
        self._names: set[str] = set()  # in step lines, and how many steps apart they came
        self._apart = 0
        self._whole: set[str] = set()  # in lines of a step, not of a part of it

    def whole(self, begun: StepBlock) -> None:
        """If a line counts inside its step, `Step 3/400 | Example step 0 | reward: 0.9`, removes the numbers that lines
        of whole steps state."""
        counts = {name for name in begun.cells if counts_within(name)}
        if counts:
            told = counts | self._whole
            begun.cells = {name: x for name, x in begun.cells.items() if name not in told}
        elif len(self._whole) < MAX_BLOCK:
            self._whole.update(begun.cells)

    def believes(self, begun: StepBlock, step: int | None, weakly: bool) -> bool:
        """Whether a line that names a step belongs to the training. If other lines stated steps, a line with new names
        must be at a step near theirs, as sentences and tables number steps too; not one with the names of their
        numbers, with which another launch may go on. `step`: the newest step. `weakly`: the steps so far count epochs
        or the like."""
        if not begun.cells:
            return True
        if not measures(begun.cells):
            return False
        known = self._names.isdisjoint(begun.cells)
        if begun.step <= 1 and len(begun.cells) > 1 and weakly:
            known = False  # a part before the training counted so far
        far = step is not None and not 0 <= begun.step - step <= max(1, self._apart)
        if known and far and not begun.cells.keys() <= set(self._names_so_far()):
            return False
        if step is not None and begun.step > step:
            self._apart = begun.step - step
        if len(self._names) < MAX_BLOCK:
            self._names.update(begun.cells)
        return True
