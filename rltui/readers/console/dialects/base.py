"""What a console dialect is: a small reader of the lines that one kind of trainer prints for a step."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Protocol

from msgspec import Struct

MAX_CELLS = 2000
"""Cells of one step: a log that never ends a table fills no memory."""
MAX_LINES = 2000
"""Lines of one table or block."""


class Step(Struct, frozen=True):
    """What a line completes: the cells of a step. `total` where the line states the plan; `time`, and the number of the
    `line` that it began with, are set by `Dialects`. `beside`: the step has a line of its own, in other words."""

    step: int
    cells: Mapping[str, object]
    total: int | None = None
    time: float = nan
    line: int = 0
    beside: bool = False


class LineDialect(Protocol):
    """Reads lines in file order; one instance a file.

    A line is shown to it when it holds one of `marks`, and every line while `is_open` (a table under way). Prefix is
    Ray's, empty where there is none; message is the line behind it, without colours. `late`: a step is complete when
    the next one begins.
    """

    late: bool

    @property
    def marks(self) -> tuple[str, ...]:
        """Texts of which its lines hold one."""

    @property
    def is_open(self) -> bool:
        """Whether the lines that follow matter."""

    def line(self, prefix: str, message: str) -> list[Step] | None:
        """Steps that are complete with this line; None for a line that is none of this dialect's."""

    def close(self) -> list[Step]:
        """The file ends here: what is held back."""
