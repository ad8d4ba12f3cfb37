"""Tables in boxes: AReaL's `Train step 3/500 done.` with four pairs a row, tinker's `Step 3` with one, and those of
loops that print one under the title `Step 3`, whose columns are metrics or statistics of them."""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.dialects.base import MAX_CELLS, MAX_LINES, Step
from rltui.readers.console.lead import bare
from rltui.readers.name_words import words
from rltui.readers.rows import measured, number

_AREAL = lazy(r"\bTrain step (\d{1,15})/(\d{1,15}) done\.")
_STATS = lazy(r"\bStats \((\d{1,6})/\d{1,6}\):")
_TITLE = lazy(r"^Step (\d{1,15})$")
_FRAME = frozenset("─━═│┃┏┓┗┛┡┩┌┐└┘├┤╒╕╞╡╘╛╤╧╪┬┴┼┳┻╇╈ ")
_ENDS = ("╘", "└", "┗")
_GAP = 12
"""Most other lines between a title and the end of its table: other processes write to the log too."""


class BoxTable:
    """Steps from tables in boxes. The title states the step; each further table of one AReaL commit is the next
    step."""

    marks = ("Train step ", "Stats (", "Step ")
    late = True

    def __init__(self) -> None:
        self._step: int | None = None
        self._first = 0
        self._total: int | None = None
        self._cells: dict[str, object] = {}
        self._columns: list[str] = []
        self._prefix = ""
        self._lines = 0
        self._others = 0

    @property
    def is_open(self) -> bool:
        return self._step is not None

    def line(self, prefix: str, message: str) -> list[Step] | None:
        if self._step is not None and prefix == self._prefix and self._row(message.strip()):
            return self.close() if message.strip().startswith(_ENDS) else []
        return self._title(prefix, message)

    def _title(self, prefix: str, message: str) -> list[Step] | None:
        text = bare(message)
        areal = _AREAL.search(text)
        title = _TITLE.match(text)
        stats = _STATS.search(text)
        if areal is not None:
            done = self.close()
            self._first = int(areal[1]) - 1  # AReaL counts from one on the screen, from zero everywhere else
            self._total = int(areal[2])
            self._begin(prefix, self._first)
            return done
        if stats is not None and self._total is not None:
            done = self.close()
            self._begin(prefix, self._first + int(stats[1]) - 1)
            return done
        if title is not None:
            done = self.close()
            self._total = None
            self._begin(prefix, int(title[1]))
            return done or None  # it may be another's heading
        if self._step is not None and prefix == self._prefix and text:
            self._others += 1
            if self._others > _GAP:
                return self.close() or None
        return None

    def _begin(self, prefix: str, step: int) -> None:
        self._step, self._prefix, self._columns = step, prefix, []
        self._lines = self._others = 0

    def _row(self, text: str) -> bool:
        """Takes a line of the table. False for any other line."""
        if not text or text[0] not in _FRAME:
            return False
        self._lines += 1
        if set(text) <= _FRAME or text[0] not in "│┃" or self._lines > MAX_LINES:
            return True
        cells = [cell.strip() for cell in text.strip("│┃").replace("┃", "│").split("│")]
        if text[0] == "┃" or not any(cell[:1].isdecimal() or number(cell) is not None for cell in cells):
            self._columns = cells
            return True
        for key, value in self._pairs(cells):
            whole = key and not key.endswith("…")  # tinker cuts names off that are longer than its column
            if whole and measured(key, value) is not None and len(self._cells) < MAX_CELLS:
                self._cells[key] = value
        return True

    def _pairs(self, cells: list[str]) -> list[tuple[str, str]]:
        """The names and numbers of a row: pairs, or numbers below names of columns."""
        names, numbers = self._columns, [number(cell) is not None for cell in cells]
        if len(names) == len(cells) > 1 and all(numbers):
            return list(zip(names, cells, strict=True))
        of_statistics = len(names) > 2 and all(name.lower() in words().statistics for name in names[1:])
        if len(names) == len(cells) and of_statistics and not numbers[0]:
            return [(f"{cells[0]} {name}", cell) for name, cell in zip(names[1:], cells[1:], strict=True)]
        return [(key, value) for key, value in zip(cells[::2], cells[1::2], strict=False) if number(key) is None]

    def close(self) -> list[Step]:
        step, cells, self._step, self._cells = self._step, self._cells, None, {}
        return [Step(step, cells, self._total)] if step is not None and cells else []
