"""Rows of a table in a log, whose heading names the columns."""

from __future__ import annotations

from math import nan

from rltui.lazy_regex import lazy
from rltui.readers.blank_cells import BlankCells
from rltui.readers.console.named_numbers import NUMBER, Slot
from rltui.readers.name_words import has_word, is_named, words
from rltui.readers.number_text import value

MOST_COLUMNS = 60
KEPT_LINES = 200
"""Lines without a row after which a heading is forgotten."""
_BORDERS = "|│┃║┆"
_BORDER = lazy(r"\s*[|│┃║┆]\s*")
_NAME = lazy(r"[A-Za-z_#][\w/.@%()\- ]{0,40}$")
_SAYS = lazy(r"^\s*#?\s*(?i:columns?|fields|format|header):\s+")
"""Words that announce names of columns."""
_GAP = lazy(r"\s{2,}|\t")
_TOOK = lazy(r"(?:(\d{1,4}):)?(\d{1,2}):(\d\d(?:\.\d+)?)")
_MISSING = frozenset(("", "-", "--", "—", "n/a", "N/A", "None", "null"))


class ColumnTable:
    """A line of names, then lines of as many numbers. It must get the lines of a log in order."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._blank: BlankCells | None = None
        self._idle = 0

    @property
    def is_open(self) -> bool:
        """Whether a line of numbers may be a row."""
        return bool(self._names)

    def heading(self, message: str) -> bool:
        """Takes a line that names columns, if one of them counts and another is a metric. True if so."""
        for names in _splits(_SAYS.sub("", message)):
            if not 2 <= len(names) <= MOST_COLUMNS or len(set(names)) < len(names):
                continue
            if not all(_NAME.match(name) for name in names):
                continue
            counts = [n for n in names if is_named(n, words().counters) or is_named(n, words().weak_counters)]
            if counts and any(has_word(n, words().training) for n in names if n not in counts):
                self._names, self._blank, self._idle = names, BlankCells(message, names), 0
                return True
        return False

    def row(self, message: str) -> list[Slot] | None:
        """The numbers of a row under the names of their columns; None for a line that is not a row. A missing number
        has an empty text."""
        if not self._names:
            return None
        for cells in _splits(message):
            if len(cells) == len(self._names) + 1 and cells[0].isdecimal() and "," not in message:
                cells = cells[1:]  # without the index of a data frame
            if len(cells) == len(self._names) and all(
                c in _MISSING or NUMBER.fullmatch(c) or _TOOK.fullmatch(c) for c in cells
            ):
                self._idle = 0
                return [_slot(n, c) for n, c in zip(self._names, cells, strict=True)]
        found = self._blank.cells(message) if self._blank is not None and NUMBER.match(message.lstrip()) else None
        if found is not None and all(not cell or NUMBER.fullmatch(cell) for cell in found):
            self._idle = 0
            return [_slot(n, c) if c else Slot(n, "", nan) for n, c in zip(self._names, found, strict=True)]
        self._idle += 1
        if self._idle > KEPT_LINES:
            self._names = []
        return None


def _slot(name: str, cell: str) -> Slot:
    if cell in _MISSING:
        return Slot(name, "", nan)
    if took := _TOOK.fullmatch(cell):  # a duration
        seconds = 3600 * int(took[1] or 0) + 60 * int(took[2]) + float(took[3])
        return Slot(name, f"{seconds:.12g}", seconds)
    return Slot(name, cell, value(cell))


def _splits(message: str) -> list[list[str]]:
    """The cells of a line, for each separator that it may use."""
    bare = message.strip().strip(_BORDERS).strip()
    if any(border in message for border in _BORDERS):
        return [_BORDER.split(bare)]
    if "," in bare:
        return [[cell.strip() for cell in bare.split(",")]]
    return [_GAP.split(bare), bare.split()]
