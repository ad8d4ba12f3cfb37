"""A Jupyter notebook: what its training cells printed, and the tables of HF's notebook progress.

Each cell is a log of its own. A training that goes on in a later cell is one run; one that begins anew there (GRPO
behind a warm start, the same cell copied and changed) is another: the last one is read, the rows of those before it are
counted. Output that was cleared or never saved is not there. If no cell printed rows, the last table or list that a
cell shows as its result is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rltui.readers.base import ConfigRecord, LogLine, Note, Record, Rows
from rltui.readers.console.reader import ConsoleReader
from rltui.readers.document import DocumentReader
from rltui.readers.html_tables import training
from rltui.readers.rows import RowBuilder


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
        rows = sum(len(record.steps) for record in records if isinstance(record, Rows))
        if rows:
            self.skipped["row of an earlier training"] += rows
            self.skipped_at.setdefault("row of an earlier training", f"cell {cell}")

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
                found = training(table)
                tabled = tabled or bool(found.rows)
                for step, cells in found.rows:
                    rows.add(step, cells)
                if found.rows and found.progress is not None:
                    done, total = found.progress
                    out.append(Note("progress", f"step {done} of {total}", place, done, total))
        return [*out, *console.finish(), *(rows.take() if tabled else [])]


def _text(value: object) -> str:
    """Text of an output: a string, or a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""
