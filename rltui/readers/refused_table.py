"""Describes why a table is not a log: which columns it has, and which are missing."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import NamedTuple

from rltui.lazy_regex import lazy
from rltui.prose import listed
from rltui.readers.csv_table import SEPARATORS, cut, is_preamble, rejoined, step_column
from rltui.readers.row_kinds import is_measure
from rltui.readers.rows import number
from rltui.text import clean_key

LOOKED_AT = 60
"""The most lines that are looked at."""
FEWEST = 2
"""The fewest rows below the header."""
MOST_NAMED = 6
"""The most columns that are named."""
_NAME = lazy(r"[^\W\d][\w /.@%()\[\]\-]{0,60}|\"[^\"]{1,60}\"")


class _Table(NamedTuple):
    columns: list[str]
    rows: list[list[str]]

    def holds_numbers(self, column: str) -> bool:
        at = self.columns.index(column)
        cells = [row[at] for row in self.rows if row[at].strip()]
        return bool(cells) and sum(number(cell) is not None for cell in cells) * 2 > len(cells)


def lacks(text: bytes) -> str:
    """The columns of a table and what is missing, in one phrase; "" for any other text. A table has one separator, a
    first line of names, and the same number of cells in almost every row."""
    table = _table(text)
    if table is None:
        return ""
    named = [clean_key(name) for name in table.columns[:MOST_NAMED]]
    more = len(table.columns) - len(named)
    has = f"Its columns are {listed([*named, *([f'{more} more'] if more else [])])}"
    return f"{has}: {_missing(table)}, as in step,loss,reward"


def _missing(table: _Table) -> str:
    step = step_column(table.columns)
    others = [name for name in table.columns if name != step]
    numbers = [name for name in others if table.holds_numbers(name)]
    measured = [name for name in numbers if is_measure(name)]
    if step is None and not measured:
        return "none is called a step, and none that holds numbers has the name of a metric"
    if step is None:
        return "none is called a step"
    if not table.holds_numbers(step):
        return f"{clean_key(step)} holds no numbers"
    return f"none beside {clean_key(step)} holds numbers" if not numbers else "none has the name of a metric"


def _table(text: bytes) -> _Table | None:
    whole = text[: text.rfind(b"\n") + 1] or text
    lines = [line for line in rejoined(whole.splitlines()[:LOOKED_AT]) if line.strip() and not is_preamble(line)]
    decoded = [line.decode("utf-8-sig", "replace") for line in lines]
    for separator in SEPARATORS if len(decoded) > FEWEST else "":
        try:
            columns, *rows = ([cell.strip() for cell in cut(line, separator)] for line in decoded)
        except csv.Error:
            continue
        if len(columns) > 1 and _are_names(columns):
            fitting = [row for row in rows if len(row) == len(columns)]
            if len(fitting) >= FEWEST and 10 * len(fitting) >= 9 * len(rows):
                return _Table(columns, fitting)
    return None


def _are_names(columns: Sequence[str]) -> bool:
    return len(set(columns)) == len(columns) and all(_NAME.fullmatch(column) is not None for column in columns)
