"""A Jupyter notebook: what its training cells printed, and the tables of HF's notebook progress.

Each cell is a log of its own. A training that goes on in a later cell is one run; one that begins anew there (GRPO
behind a warm start, the same cell copied and changed) is another: the last one is read, the rows of those before it are
counted. Output that was cleared or never saved is not there. If no cell printed rows, the last table or list that a
cell shows as its result is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

from rltui.readers.base import ConfigRecord, LogLine, Note, Record, Rows
from rltui.readers.console.reader import ConsoleReader
from rltui.readers.csv_table import step_column
from rltui.readers.json_document import DocumentReader
from rltui.readers.rows import RowBuilder

MAX_ROWS = 1_000_000
_BAR = re.compile(r"<progress value='(\d{1,12})' max='(\d{1,12})'")
_VALIDATION = "Validation "
"""What HF puts before the loss of an evaluation in the same table."""


class NotebookReader(DocumentReader):
    """Console text through the console reader, tables of `Step` and metrics as rows."""

    format = "notebook"

    def records(self, document: Any) -> list[Record]:
        cells = document.get("cells") if isinstance(document, dict) else None
        if not isinstance(cells, list):
            self._skip("document without notebook cells", "byte 0")
            return []
        out: list[Record] = []
        last, begun = None, 0  # newest step so far, and the cell where its training began
        for place, cell in enumerate(cells, 1):
            outputs = cell.get("outputs") if isinstance(cell, dict) else None
            if not isinstance(outputs, list):
                continue
            found = self._cell([o for o in outputs if isinstance(o, dict)], place)
            steps = [step for record in found if isinstance(record, Rows) for step in record.steps]
            if steps and (last is None or min(steps) <= last):
                self._pass_over(out, begun)
                out = [record for record in out if isinstance(record, ConfigRecord | LogLine)]
                begun = place
            last = max(steps) if steps else last
            out += found
        return out if last is not None else [*out, *self._shown(cells)]

    def _shown(self, cells: list[Any]) -> Sequence[Record]:
        """The rows of the last result that holds any: a data frame, a list."""
        for cell in reversed(cells):
            outputs = cell.get("outputs") if isinstance(cell, dict) else None
            for output in reversed(outputs) if isinstance(outputs, list) else ():
                data = output.get("data") if isinstance(output, dict) else None
                if not isinstance(data, dict):
                    continue
                rows = RowBuilder(self.skipped, self.skipped_at)
                for step, row in _Table.read(_text(data.get("text/html")), any_place=True):
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
        rows = sum(len(record.steps) for record in records if isinstance(record, Rows))
        if rows:
            self.skipped["row of a training in an earlier cell"] += rows
            self.skipped_at.setdefault("row of a training in an earlier cell", f"cell {cell}")

    def _cell(self, outputs: list[dict[str, Any]], place: int) -> list[Record]:
        console = ConsoleReader("console")
        rows = RowBuilder(self.skipped, self.skipped_at)
        out: list[Record] = []
        tabled = False
        for output in outputs:
            data = output.get("data")
            table = _text(data.get("text/html")) if isinstance(data, dict) else ""
            if output.get("output_type") == "stream":
                out += console.feed(_text(output.get("text")).encode("utf-8", "replace"))
            elif output.get("output_type") == "error":
                trace = [*(str(line) for line in output.get("traceback") or ()), ""]
                out += console.feed("\n".join(trace).encode("utf-8", "replace"))
            elif table:
                found = _Table.read(table)
                tabled = tabled or bool(found)
                for step, cells in found:
                    rows.add(step, cells)
                bar = _BAR.search(table)
                if bar is not None and found:
                    done, total = int(bar[1]), int(bar[2])
                    out.append(Note("progress", f"step {done} of {total}", place, done, total))
        return [*out, *console.finish(), *(rows.take() if tabled else [])]


def _text(value: object) -> str:
    """Text of an output: a string, or a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


class _Table(HTMLParser):
    """The first column of the table is the step, or with `any_place` the one of that name; a cell that is no number
    is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._cell: list[str] | None = None

    @classmethod
    def read(cls, html: str, any_place: bool = False) -> list[tuple[int, dict[str, object]]]:
        """Step and cells of each row; empty if this is no table of training."""
        table = cls()
        table.feed(html)
        table.close()
        named = table.rows[0] if table.rows else []
        step = step_column(named) if any_place else "Step"
        if step not in named or (named[0] != step and not any_place):
            return []
        at = named.index(step)
        names = [_named(name) for name in named]
        return [
            (
                int(row[at]),
                {name: _number(cell) for name, cell in zip(names, row, strict=True) if name not in ("", step)},
            )
            for row in table.rows[1:MAX_ROWS]
            if len(row) == len(names) and row[at].isdecimal() and len(row[at]) < 16
        ]

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


def _named(heading: str) -> str:
    """The key that HF's dict lines have for a column: `Training Loss` is loss, `Validation Loss` eval_loss."""
    if heading == "Training Loss":
        return "loss"
    if heading.startswith(_VALIDATION):
        return "eval_" + heading.removeprefix(_VALIDATION).strip().lower().replace(" ", "_")
    return heading.replace(" / ", "/")


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return None
