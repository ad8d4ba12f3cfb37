"""Tables of a training in HTML: of HF's notebook progress, of a data frame."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import NamedTuple

from rltui.readers.base import NO_STEP
from rltui.readers.csv_table import step_column
from rltui.readers.keys import step_of

MAX_ROWS = 1_000_000
_EPOCH, _LOSS, _VALIDATION = "Epoch", "Training Loss", "Validation "
"""What HF calls the first column if it evaluates by epoch, the loss, and what it puts before that of an evaluation."""
_BAR = re.compile(r"<progress\b([^<>]*)>")
_ATTRIBUTE = re.compile(r"\b(value|max)\s*=\s*[\"']?(\d{1,12})\b")
_LABEL = re.compile(r"\[\s*(\d{1,12})/(\d{1,12})\b[^\[\]<>]{0,80}\bEpoch (\d{1,9}(?:\.\d{1,9})?)/(\d{1,9})\]")


class Training(NamedTuple):
    """`rows`: step, or `NO_STEP`, and cells of each. `progress`: the step that a bar shows and the planned ones."""

    rows: list[tuple[int, dict[str, object]]]
    progress: tuple[int, int] | None = None


def training(html: str, any_place: bool = False) -> Training:
    """The rows of the table that stands in HTML, none if it is no table of training. Its first column is the step, or
    with `any_place` one of that name; a cell that is no number is left out."""
    table = _rows(html)
    named = table[0] if table else []
    if named[:1] == [_EPOCH] and _LOSS in named:
        return _by_epoch(html, table)
    step = step_column(named) if any_place else "Step"
    if step not in named or (named[0] != step and not any_place):
        return Training([])
    at = named.index(step)
    rows = [(step_of(row[at])[0], cells) for row, cells in _cells(table, step)]
    return Training([(step, cells) for step, cells in rows if step is not None], _progress(html))


def headings(html: str) -> set[str]:
    """What the columns of a table behind its first are called."""
    return {name for row in _rows(html)[:1] for name in row[1:]}


def _by_epoch(html: str, rows: list[list[str]]) -> Training:
    """At the steps that end the epochs, if the bar above tells how long one is; else without steps."""
    length = _epoch_length(html)
    found = []
    for row, cells in _cells(rows, _EPOCH):
        epoch = _number(row[0])
        if isinstance(epoch, float) and epoch.is_integer():
            found.append((NO_STEP if length is None else int(epoch) * length, {"epoch": epoch, **cells}))
    return Training(found, None if length is None else _progress(html))


def _epoch_length(html: str) -> int | None:
    """Steps of an epoch, where the planned steps are whole epochs: the bar has to stand where its epoch says, or one
    step ahead."""
    label = _LABEL.search(html)
    if label is None or not int(label[4]):
        return None
    length, rest = divmod(int(label[2]), int(label[4]))
    two_decimals = length / 200
    fits = abs(int(label[1]) - float(label[3]) * length) <= 1 + two_decimals
    return length if length and not rest and fits else None


def _progress(html: str) -> tuple[int, int] | None:
    bar = _BAR.search(html)
    shown = {name: int(value) for name, value in _ATTRIBUTE.findall(bar[1])} if bar is not None else {}
    return (shown["value"], shown["max"]) if shown.keys() == {"value", "max"} else None


def _cells(rows: list[list[str]], position: str) -> list[tuple[list[str], dict[str, object]]]:
    """The rows that are as long as the heading, with their cells but the position."""
    evaluated = any(name.startswith(_VALIDATION) for name in rows[0])
    names = ["" if name == position else _named(name, evaluated) for name in rows[0]]
    return [
        (row, {name: _number(cell) for name, cell in zip(names, row, strict=True) if name})
        for row in rows[1:MAX_ROWS]
        if len(row) == len(names)
    ]


def _named(heading: str, evaluated: bool) -> str:
    """The key that HF's dict lines have for a column: `Training Loss` is loss, `Validation Loss` eval_loss, and so is
    any other that begins with a capital beside it, `Reward` eval_reward."""
    if heading == _LOSS:
        return "loss"
    if heading.startswith(_VALIDATION) or (evaluated and heading[:1].isupper()):
        return "eval_" + heading.removeprefix(_VALIDATION).strip().lower().replace(" ", "_")
    return heading.replace(" / ", "/")


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return None


def _rows(html: str) -> list[list[str]]:
    table = _Table()
    table.feed(html)
    table.close()
    return table.rows


class _Table(HTMLParser):
    """The cells of each row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None and self.rows:
            self.rows[-1].append("".join(self._cell).strip())
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)
