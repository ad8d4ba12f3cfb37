"""Rows of a table whose columns are separated only by blanks, and in which some cells are blank. The places of the
other cells show to which columns they belong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rltui.lazy_regex import lazy
from rltui.readers.rows import number

_GAP = lazy(r"\S+(?: \S+)*")
"""A name of several words: two blanks separate it from the next."""
MOST_WAITING = 1000
Span = tuple[int, int]
Placed = tuple[int, list[str]]
"""The number of a line and its cells, "" for a blank one."""


class BlankCells:
    """Assigns the cells of rows below a heading to columns. It must get the lines in their order.

    A row is placed by the names in the heading, else by a row without blank cells. Rows that only such a row can place
    wait for one. `names`: the columns' names; the first row may show that some have several words.
    """

    def __init__(self, heading: str, names: Sequence[str]) -> None:
        self.names = list(names)
        self._heading = heading
        self._full = ""
        self._sure = False
        self._waiting: list[tuple[int, str]] = []

    def take(self, line: int, text: str) -> list[Placed] | None:
        """The rows that can be placed now; None if this line is not a row."""
        cells = text.split()
        if not all(number(cell) is not None for cell in cells):
            return None
        for names in [self.names] if self._sure else _namings(self._heading, self.names):
            if len(cells) == len(names):
                self.names, self._sure, self._full = names, True, text
                waiting, self._waiting = self._waiting, []
                told = [(at, self.cells(one)) for at, one in waiting]
                return [*((at, one) for at, one in told if one is not None), (line, cells)]
            if (found := self._placed(names, text)) is not None:
                self.names, self._sure = names, True
                return [(line, found)]
        if self._full or not 1 < len(cells) < len(self.names) or len(self._waiting) >= MOST_WAITING:
            return None
        self._waiting.append((line, text))
        return []

    def cells(self, text: str) -> list[str] | None:
        """The cells of a row; None if their places do not show their columns. The first cell must be there."""
        return self._placed(self.names, text)

    def _placed(self, names: Sequence[str], text: str) -> list[str] | None:
        cells = text.split()
        if not 1 < len(cells) < len(names):
            return None
        if self._heading.strip().split(" ") == names and text.strip().split(" ") == cells:
            return [*cells, *[""] * (len(names) - len(cells))]  # one blank between all: only the last can be missing
        for columns in (_spans(self._heading, names), _spans(self._full, self._full.split())):
            if len(columns) == len(names) and (at := _places(columns, _spans(text, cells))) is not None:
                row = [""] * len(names)
                for place, cell in zip(at, cells, strict=True):
                    row[place] = cell
                return row
        return None


def _namings(heading: str, names: list[str]) -> list[list[str]]:
    """The possible names in a heading: those separated by two blanks (tried first, if there are any), and those
    known."""
    wide = _GAP.findall(heading)
    return [wide, names] if 1 < len(wide) < len(names) else [names]


def _spans(text: str, parts: Sequence[str]) -> list[Span]:
    """Where these parts of a text are, in order; none if one is missing."""
    spans, end = list[Span](), 0
    for part in parts:
        start = text.find(part, end)
        if start < 0:
            return []
        end = start + len(part)
        spans.append((start, end))
    return spans


def _places(columns: Sequence[Span], cells: Sequence[Span]) -> list[int] | None:
    """The column of each cell, if all cells share an edge or the middle with their columns, and with no others."""
    found: list[list[int]] = []
    for edge in (_right, _left, _centre):
        at = _aligned(columns, cells, edge)
        if at is not None and at not in found:
            found.append(at)
    return found[0] if len(found) == 1 else None


def _aligned(columns: Sequence[Span], cells: Sequence[Span], edge: Callable[[Span], int]) -> list[int] | None:
    """The column of each cell, if each cell has its own column at this edge. Blanks before the first may be lost."""
    shift = edge(columns[0]) - edge(cells[0])
    at: list[int] = []
    for cell in cells:
        near = [i for i, column in enumerate(columns) if edge(column) == edge(cell) + shift]
        if len(near) != 1 or (at and near[0] <= at[-1]):
            return None
        at += near
    return at


def _right(span: Span) -> int:
    return span[1]


def _left(span: Span) -> int:
    return span[0]


def _centre(span: Span) -> int:
    return (span[0] + span[1]) // 2
