"""Tables of an evaluation below the line of a step, a row for each set of problems:

    | benchmark | acc   |
    | gsm8k     | 0.323 |

The step is that of the log. A table whose rows name no known set may be of the training's own data, and is none.
"""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.dialects.base import MAX_CELLS, NEWEST, Step
from rltui.readers.console.layouts import is_frame
from rltui.readers.console.lead import without_lead
from rltui.readers.name_words import has_word, words
from rltui.readers.number_text import NUMBER, value

_CALLED = ("benchmark", "Benchmark", "dataset", "Dataset", "task", "Task", "suite", "Suite")
_BORDER = lazy(r"\s*[|│┃║]\s*")
_GAP = lazy(r"\s{2,}|\t")
_NAME = lazy(r"[^\W\d][\w.@\-/]{0,60}")
_COLUMN = lazy(r"[^\W\d][\w.@%/\-]{0,30}(?: [\w.@%/\-]{1,20})?")
_CELL = lazy(rf"({NUMBER})\s?(%?)")
_LETTERS = lazy(r"[^\W\d_]+")
_SETS = frozenset(("gsm", "math", "aime", "amc"))
MOST_COLUMNS = 12


class EvalTable:
    """Gives cells such as `eval/gsm8k/acc`. Columns of amounts, the number of problems, are no scores."""

    marks = tuple(f"{border} {name}" for name in _CALLED for border in "|│┃") + tuple(f"{name}  " for name in _CALLED)
    late = False

    def __init__(self) -> None:
        self._columns: list[str] = []
        self._prefix = ""
        self._held: dict[str, object] = {}  # cells of rows before one names a known set of problems
        self._known = False

    @property
    def is_open(self) -> bool:
        return bool(self._columns)

    def line(self, prefix: str, message: str) -> list[Step] | None:
        if not self._columns:
            return [] if self._header(prefix, message) else None
        if prefix != self._prefix:
            return None
        if not any(map(str.isalnum, message)) and is_frame(message):
            return []
        if not self._row(message):
            self._columns, self._held = [], {}
            return [] if self._header(prefix, message) else None
        if not self._known or not self._held:
            return []
        told, self._held = self._held, {}
        return [Step(NEWEST, told, beside=True)]

    def _header(self, prefix: str, message: str) -> bool:
        first, *columns = _cells_of(message)
        known = words().training | words().evaluation | _SCORES
        scores = any(has_word(column, known) for column in columns)
        if first not in _CALLED or not scores or len(columns) > MOST_COLUMNS:
            return False
        if not all(map(_COLUMN.fullmatch, columns)):
            return False
        self._columns, self._prefix, self._held, self._known = columns, prefix, {}, False
        return True

    def _row(self, message: str) -> bool:
        """Takes a row. False for any other line."""
        name, *cells = _cells_of(message)
        found = [match for cell in cells if (match := _CELL.fullmatch(cell)) is not None]
        if not len(self._columns) == len(cells) == len(found) or _NAME.fullmatch(name) is None:
            return False
        said = {word.lower() for word in _LETTERS.findall(name)}
        self._known |= not said.isdisjoint(words().benchmarks | _SETS)
        for column, cell in zip(self._columns, found, strict=True):
            if not has_word(column, words().amounts | words().items) and len(self._held) < MAX_CELLS:
                share = bool(cell[2]) and "%" not in column
                self._held[f"eval/{name}/{column}"] = value(cell[1]) / (100 if share else 1)
        return True

    def close(self) -> list[Step]:
        return []


_SCORES = frozenset(("acc", "accuracy", "score", "pass", "correct", "solved", "em", "avg"))


def _cells_of(message: str) -> list[str]:
    text = without_lead(message) if not message.strip().startswith(tuple("|│┃║")) else message
    bare = text.strip().strip("|│┃║").strip()
    return _BORDER.split(bare) if any(border in text for border in "|│┃║") else _GAP.split(bare)
