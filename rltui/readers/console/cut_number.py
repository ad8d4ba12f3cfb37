"""The last number of a line whose end has not come yet: it may be only the beginning of a longer number."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.console.step_template import StepRow
from rltui.readers.number_text import NUMBER, value

_AT_END = lazy(rf"(?<![\w.])({NUMBER})((?:[eE][-+]?)?)$")
LONGEST = 64


class StepNames:
    """The names in the rows of the newest step, and of the one before."""

    def __init__(self) -> None:
        self._step: int | None = None
        self._now: set[str] = set()
        self._before: set[str] = set()

    def take(self, row: StepRow) -> None:
        if row.aside:
            return
        if row.step != self._step:
            self._step, self._before, self._now = row.step, self._now, set()
        self._now |= row.cells.keys()

    def lacks(self, row: StepRow) -> bool:
        """Whether a step, with this row, still lacks a name that the step before has."""
        told = self._now | row.cells.keys() if row.step == self._step else row.cells.keys()
        return not self._before | self._now <= told


class CutNumber(Struct, frozen=True):
    """The number at the end of an unfinished line. `surely`: the line stops inside it, as in `lr=9.15e`."""

    number: float
    surely: bool

    @classmethod
    def of(cls, line: bytes) -> CutNumber | None:
        """The number of an unfinished line; None if it does not end with one."""
        found = _AT_END.search(line[-LONGEST:].decode("utf-8", "replace"))
        return None if found is None else cls(value(found[1]), bool(found[2]))

    def left_out(self, row: StepRow, names: StepNames) -> tuple[StepRow, list[StepRow]]:
        """The row without the number, and a row of only the number. It is taken out if it is the row's last number and
        more is to come: the step lacks names that the step before has. Else the row as it is, and no other."""
        last = next(reversed(row.cells), None)
        if last is None or row.cells[last] != self.number or not (self.surely or names.lacks(row)):
            return row, []
        others = {name: x for name, x in row.cells.items() if name != last}
        return replace(row, cells=others), [replace(row, cells={last: self.number})]
