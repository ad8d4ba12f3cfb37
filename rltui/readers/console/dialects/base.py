"""What a console dialect is: a small reader of the lines that one kind of trainer prints for a step."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

MAX_CELLS = 2000
"""Most cells of one step, so that a table that never ends does not fill memory."""
MAX_LINES = 2000
"""Most lines of one table or block."""
NEWEST = -1
"""In place of a step: that of the log."""


class Step(Struct, frozen=True):
    """A step that a line completes, with its cells. `total`: the planned steps, if stated. `time`, and `line` (the
    number of the line where it began), are set by `Dialects`. `beside`: the step has another line of its own, in other
    words, or is `NEWEST`."""

    step: int
    cells: Mapping[str, object]
    total: int | None = None
    time: float = nan
    line: int = 0
    beside: bool = False

    def at_newest(self, newest: int | None) -> Step | None:
        """The same, at the log's step if it is to be that; None if that is not known."""
        if self.step != NEWEST:
            return self
        return None if newest is None else replace(self, step=newest)


class LineDialect(Protocol):
    """Reads lines in file order; one instance a file.

    It gets each line that holds one of `marks`, and every line while `is_open` (inside a table). `prefix`: that of Ray,
    empty if there is none. `message`: the line after it, without colours. `late`: a step is complete only when the next
    one begins.
    """

    late: bool

    @property
    def marks(self) -> tuple[str, ...]:
        """Texts; each first line of this dialect holds one of them."""

    @property
    def is_open(self) -> bool:
        """Whether following lines may belong to an open step."""

    def line(self, prefix: str, message: str) -> list[Step] | None:
        """The steps that are complete with this line; None if the line is not of this dialect."""

    def close(self) -> list[Step]:
        """The steps that are held back, as the file ends here."""
