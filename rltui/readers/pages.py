"""Saved pages: a Jupyter notebook, or a web page that holds one or has tables and logs of a training among other words.

The reader takes the output of a notebook's training cells and the tables of HF's notebook progress. Each cell is a log
of its own. If a training continues in a later cell, both are one run. If it begins anew there (GRPO after a warm start,
or the same cell copied and changed), it is another run: only the last run is read, and the rows of earlier runs are
counted. Output that was cleared or never saved cannot be read. If no cell printed rows, the reader takes the last table
or list that a cell shows as its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from html.parser import HTMLParser
from typing import Any, NamedTuple

from rltui.readers.base import NO_STEP, ConfigRecord, Hint, LogLine, Note, Record, Rows
from rltui.readers.console.lead import without_colours
from rltui.readers.console.reader import ConsoleReader
from rltui.readers.console.untaken import suggested
from rltui.readers.csv_table import step_column
from rltui.readers.document import DocumentReader
from rltui.readers.keys import NOTEBOOK_LOSS, of_headings, step_of
from rltui.readers.notebook_code import TrainersMade
from rltui.readers.rows import RowBuilder

MAX_ROWS = 1_000_000
_EPOCH = "Epoch"
"""HF's name for the first column if it evaluates at each epoch."""
_BAR = re.compile(r"<progress\b([^<>]*)>")
_ATTRIBUTE = re.compile(r"\b(value|max)\s*=\s*[\"']?(\d{1,12})\b")
_LABEL = re.compile(r"\[\s*(\d{1,12})/(\d{1,12})\b[^\[\]<>]{0,80}\bEpoch (\d{1,9}(?:\.\d{1,9})?)/(\d{1,9})\]")
_EDGE = re.compile(r"<(/?)(table|pre)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_CODE = re.compile(r"\s*(?:-+>\s*)?\d+(?:\s|$)")
"""A line of code in a traceback of IPython, with its number. An arrow marks the line that failed."""
_CLASSES = re.compile(r"\bclass\s*=\s*[\"']([^\"'<>]*)")
_CELL = frozenset(("cell", "jp-Cell"))
_SHOWN = frozenset(("output", "output_area", "cell_output", "jp-OutputArea"))
_WRITTEN = frozenset(("input", "input_area", "cell_input", "jp-InputArea"))
_RESULT = frozenset(("output_execute_result", "jp-OutputArea-executeResult"))
"""CSS classes by which nbconvert, Jupyter and Jupyter Book mark a cell, its outputs, its code and its result."""


Row = tuple[int, dict[str, object]]
"""The step (or `NO_STEP`) and the cells of a row."""


class Training(NamedTuple):
    """`rows`: the rows of a table. `progress`: the step that a progress bar shows, and the planned steps."""

    rows: list[Row]
    progress: tuple[int, int] | None = None


def training(html: str, any_place: bool = False) -> Training:
    """The rows of an HTML table; none if it is not a table of training. The step must be the first column, or with
    `any_place` any column. Cells that are not numbers are left out."""
    table = _rows(html)
    named = table[0] if table else []
    if named[:1] == [_EPOCH] and NOTEBOOK_LOSS in named:
        return _by_epoch(html, table)
    step = step_column(named) if any_place else "Step"
    if step not in named or (named[0] != step and not any_place):
        return Training([])
    at = named.index(step)
    rows = [(step_of(row[at])[0], cells) for row, cells in _table_cells(table, step)]
    return Training([(step, cells) for step, cells in rows if step is not None], _progress(html))


def headings(html: str) -> set[str]:
    """The names of a table's columns, without the first one."""
    return {name for row in _rows(html)[:1] for name in row[1:]}


def _by_epoch(html: str, rows: list[list[str]]) -> Training:
    """The rows of a table with one row for each epoch. If the progress bar above the table shows how long an epoch is,
    each row has the last step of its epoch; else rows have no steps."""
    length = _epoch_length(html)
    found = []
    for row, cells in _table_cells(rows, _EPOCH):
        epoch = _number(row[0])
        if isinstance(epoch, float) and epoch.is_integer():
            found.append((NO_STEP if length is None else int(epoch) * length, {"epoch": epoch, **cells}))
    return Training(found, None if length is None else _progress(html))


def _epoch_length(html: str) -> int | None:
    """The number of steps in an epoch, if the planned steps are whole epochs and the progress bar's step fits its epoch
    or is one ahead; else None."""
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


def _table_cells(rows: list[list[str]], position: str) -> list[tuple[list[str], dict[str, object]]]:
    """The rows that are as long as the heading, each with its cells by name, without the column `position`."""
    keys = of_headings(rows[0])
    names = ["" if name == position else keys[name] for name in rows[0]]
    return [
        (row, {name: _number(cell) for name, cell in zip(names, row, strict=True) if name})
        for row in rows[1:MAX_ROWS]
        if len(row) == len(names)
    ]


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


class NotebookReader(DocumentReader):
    """Reads printed text through the console reader, and tables of `Step` and metrics as rows."""

    format = "notebook"

    def records(self, document: Any) -> list[Record]:
        cells = document.get("cells") if isinstance(document, dict) else None
        if not isinstance(cells, list):
            self._skip("document without notebook cells", "byte 0")
            return []
        out: list[Record] = []
        last, begun = None, 0  # newest step so far, and the cell where its training began
        made, trainer = TrainersMade(), list[Record]()  # by all code so far; records on the newest training's trainer
        for place, cell in enumerate(cells, 1):
            outputs = cell.get("outputs") if isinstance(cell, dict) else None
            if not isinstance(outputs, list):
                continue
            made.take(_text(cell.get("source")))
            found = self._cell([o for o in outputs if isinstance(o, dict)], place)
            steps = [step for record in found if isinstance(record, Rows) for step in record.steps]
            if steps and (last is None or min(steps) <= last):
                self._pass_over(out, begun)
                out = [record for record in out if isinstance(record, ConfigRecord | LogLine)]
                begun = place
            last, trainer = (max(steps), made.told(place)) if steps else (last, trainer)
            out += found
        out = [*trainer, *out] if last is not None else [*out, *self._shown(cells)]
        return out if any(isinstance(record, Rows) for record in out) else [*out, Hint(self._why_none(cells))]

    def _why_none(self, cells: list[Any]) -> str:
        """Why there are no rows, in words; empty if the page is not a notebook."""
        code = [cell for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]
        if not code:
            return ""
        cells_of = f"its {len(code)} code cells" if len(code) > 1 else "its code cell"
        lines = [(place, line) for place, cell in enumerate(cells, 1) for line in _printed(cell).splitlines()]
        if not any(cell.get("outputs") for cell in code):
            none = f"none of {cells_of} holds" if len(code) > 1 else f"{cells_of} does not hold"
            return f"{none} output: run the notebook and save it, as only output that is saved can be read"
        often = suggested(lines)
        like = f": {often.times} lines, the first in cell {often.line}, are like “{often.text}”" if often else ""
        return f"the output of {cells_of} tells no metrics by step{like}"

    def _shown(self, cells: list[Any]) -> Sequence[Record]:
        """The rows of the last result that holds any, such as a data frame or a list."""
        for cell in reversed(cells):
            outputs = cell.get("outputs") if isinstance(cell, dict) else None
            for output in reversed(outputs) if isinstance(outputs, list) else ():
                data = output.get("data") if isinstance(output, dict) else None
                if not isinstance(data, dict):
                    continue
                rows = RowBuilder(self.skipped, self.skipped_at)
                for step, row in training(_text(data.get("text/html")), any_place=True).rows:
                    rows.add(step, row)
                if found := [*rows.take()] or self._listed(_text(data.get("text/plain"))):
                    return found
        return []

    @staticmethod
    def _listed(text: str) -> list[Rows]:
        console = ConsoleReader("console")
        return [
            record
            for record in [*console.feed(text.encode("utf-8", "replace")), *console.finish()]
            if isinstance(record, Rows)
        ]

    def _pass_over(self, records: list[Record], cell: int) -> None:
        self._pass_over_rows(sum(len(record.steps) for record in records if isinstance(record, Rows)), cell)

    def _pass_over_rows(self, rows: int, cell: int) -> None:
        if rows:
            self.skipped["row of an earlier training"] += rows
            self.skipped_at.setdefault("row of an earlier training", f"cell {cell}")

    def _cell(self, outputs: list[dict[str, Any]], place: int) -> list[Record]:
        console = ConsoleReader("console")
        rows: list[Row] = []
        out: list[Record] = []
        for output in outputs:
            data = output.get("data")
            table = _text(data.get("text/html")) if isinstance(data, dict) else ""
            if output.get("output_type") == "stream":
                out += console.feed(_text(output.get("text")).encode("utf-8", "replace"))
            elif output.get("output_type") == "error":
                *frames, error = map(str, output.get("traceback") or [""])
                trace = "\n".join([*map(_without_code, frames), error, ""])
                out += console.feed(trace.encode("utf-8", "replace"))
            elif table:
                found = training(table)
                if _goes_on(rows, found.rows):
                    rows += found.rows
                elif not _shows_again(rows, found.rows):
                    self._pass_over_rows(len(rows), place)
                    rows = [*found.rows]
                else:
                    known = dict(rows)
                    rows = [*(known | {step: known.get(step, {}) | cells for step, cells in found.rows}).items()]
                if found.rows and found.progress is not None:
                    done, total = found.progress
                    out.append(Note("progress", f"step {done} of {total}", place, done, total))
        built = RowBuilder(self.skipped, self.skipped_at)
        for step, cells in rows:
            built.add(step, cells)
        return [*out, *console.finish(), *(built.take() if rows else [])]


def _goes_on(rows: list[Row], later: list[Row]) -> bool:
    """Whether the rows of a table continue those of the tables above it in the cell."""
    steps = [step for step, _ in (*rows, *later)]
    return not rows or not later or NO_STEP in steps or later[0][0] > max(step for step, _ in rows)


def _shows_again(rows: list[Row], later: list[Row]) -> bool:
    """Whether a table repeats the rows of a table above it, perhaps with further rows, or shows other metrics of the
    same steps."""
    known = dict(rows)
    pairs = [(known[step], cells) for step, cells in later if step in known]
    return bool(pairs) and all(cells[name] == before[name] for before, cells in pairs for name in before.keys() & cells)


def _printed(cell: Any) -> str:
    """The text that a cell printed."""
    outputs = cell.get("outputs") if isinstance(cell, dict) else None
    return "\n".join(_text(one.get("text")) for one in outputs or () if isinstance(one, dict))


def _without_code(trace: str) -> str:
    """A part of an error as IPython shows it, without the lines of code: words in code are not events."""
    return "\n".join(line for line in trace.split("\n") if not _CODE.match(without_colours(line)))


def _text(value: object) -> str:
    """The text of an output, which is a string or a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


class PageReader(NotebookReader):
    """Reads a page like a notebook. If the page does not mark cells, each text counts as a cell. Tables one below the
    other are then one cell, unless they hold the same metrics."""

    format = "page"

    def parse(self, data: bytes) -> Any:
        return {"cells": [{"outputs": cell} for cell in _page_cells(data.decode("utf-8", "replace"))]}


def holds_rows(data: bytes) -> bool:
    """Whether a page shows rows of a training."""
    reader = PageReader()
    return any(isinstance(record, Rows) for record in [*reader.feed(data), *reader.finish()])


def _page_cells(page: str) -> list[list[dict[str, Any]]]:
    """The outputs of each cell of a page, in the form of a notebook."""
    cells: list[list[dict[str, Any]]] = [[]]
    marked = any(_CELL.intersection(words.split()) for words in _CLASSES.findall(page))
    metrics: set[str] = set()
    for before, tag, inside in _pieces(page):
        classes = [set(words.split()) for words in _CLASSES.findall(before)]
        if marked and any(_CELL & words for words in classes):
            cells.append([])
        if not marked:
            named = headings(inside) if tag == "table" else set()
            if not named or named & metrics:
                cells.append([])
                metrics = set()
            metrics |= named
        elif any(_WRITTEN & words for words in classes[_last(classes, _SHOWN) + 1 :]):
            continue
        if tag == "table":
            cells[-1].append({"output_type": "display_data", "data": {"text/html": before + inside}})
        elif _last(classes, _RESULT) >= 0:
            cells[-1].append({"output_type": "execute_result", "data": {"text/plain": _without_tags(inside)}})
        else:
            cells[-1].append({"output_type": "stream", "text": _without_tags(inside)})
    return cells


def _pieces(page: str) -> Iterator[tuple[str, str, str]]:
    """Each table and preformatted text that is not inside another one: the page's text between the previous one and
    this one, its tag, and its content."""
    end, begun, depth, kind = 0, (0, 0), 0, ""
    for edge in _EDGE.finditer(page):
        closes, tag = edge[1], edge[2].lower()
        if not depth and not closes:
            begun, depth, kind = edge.span(), 1, tag
        elif depth and tag == kind:
            depth += -1 if closes else 1
            if not depth:
                yield page[end : begun[0]], kind, page[begun[1] : edge.start()]
                end = edge.end()


def _last(classes: list[set[str]], wanted: frozenset[str]) -> int:
    return max((place for place, words in enumerate(classes) if wanted & words), default=-1)


def _without_tags(html: str) -> str:
    return unescape(_TAG.sub("", html))
