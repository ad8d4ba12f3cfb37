"""Finds the runs in files that hold several runs, or one metric of several runs."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import orjson

from rltui.readers.base import ContainedRun
from rltui.readers.column_file import SHOWN, as_csv
from rltui.readers.column_kind import column_format
from rltui.readers.compressed import NotSupported, unpacked_head
from rltui.readers.csv_table import CsvTable, cut, headerless, is_points, table_of
from rltui.readers.document_rows import held
from rltui.readers.formats import CONSOLES, SEVERAL
from rltui.readers.json_text import documents
from rltui.readers.keys import step_of
from rltui.readers.run_names import RowOfRun, row_of_run, run_names
from rltui.readers.sniff import sniff, sniff_one

MAX_BYTES = 1 << 26
HEAD = 1 << 16


def runs_in_file(data: bytes, name: str) -> list[ContainedRun]:
    """The runs of a file that may hold several, in the file's order. If the file holds a single run, its key is
    empty."""
    try:
        plain = unpacked_head(data, MAX_BYTES)
    except NotSupported:
        return []
    if (kind := column_format(plain, name)) is not None:
        return [run._replace(format=kind) for run in _of_columns(plain, name)]
    if (kind := sniff_one(plain[:HEAD], name)) in CONSOLES:
        return _of_console(plain, str(kind))
    start = plain.lstrip()[:1]
    if start in (b"{", b"["):
        found = _of_document(plain, name)
        if found is not None:
            return [ContainedRun("json", key, key, "") for key in found]
        return [ContainedRun("jsonl", key, key, "") for key in run_names(_rows_of_lines(plain))]
    lines = plain[:HEAD].split(b"\n")
    if is_points(points := [line for line in lines if line.strip()][:60][:-1], name):
        point = headerless(points[0], name)
        return [ContainedRun("csv", "", "", "", point.metric("") if point is not None else "")]
    table = table_of(lines, name)
    if table is None:
        return []
    prefixes = table.run_prefixes()
    if prefixes:
        return [ContainedRun("csv", key, key, "", table.metric(key)) for key in prefixes]
    rows = [] if table.run is None else list(_rows_of_table(plain, table, table.run))
    keys = run_names(rows)
    metric = table.metric("")
    if table.long is not None:
        named = {row.run for row in _rows_of_table(plain, table, table.long[0])}
        metric = named.pop() if len(named) == 1 else ""
    only = (rows[0].run if rows else "") or table.named_run
    return [ContainedRun("csv", key, key or only, "", metric) for key in keys]


def _of_console(text: bytes, format: str) -> list[ContainedRun]:
    from rltui.readers.console.run_sections import RunSections  # late: few files need it

    found = RunSections()
    found.feed(text)
    found.flush()
    return [ContainedRun(format, key, key, f"{i:04}") for i, key in enumerate(found.keys or [""])]


def _of_columns(data: bytes, name: str) -> list[ContainedRun]:
    """The runs of a file that was saved as columns; none if the columns are not metrics, as in data sets, which are
    saved in the same formats."""
    try:
        told = sniff(as_csv(data, SHOWN)[0], f"{name}.csv")
        if told != SEVERAL:
            return [ContainedRun("csv", "", "", "")] if told == "csv" else []
        return runs_in_file(as_csv(data)[0], f"{name}.csv")
    except ValueError:
        return []


def _rows_of_table(text: bytes, table: CsvTable, column: str) -> Iterator[RowOfRun]:
    run = table.columns.index(column)
    seed = None if table.seed is None else table.columns.index(table.seed)
    step = None if table.step is None else table.columns.index(table.step)
    for line in text.decode("utf-8-sig", "replace").replace("\0", "").splitlines():
        try:
            cells = cut(line, table.separator)
        except csv.Error:
            continue
        if len(cells) == len(table.columns) and cells[run].strip() != column:
            of = "" if seed is None else cells[seed].strip()
            yield RowOfRun(cells[run].strip(), of, None if step is None else step_of(cells[step])[0])


def _of_document(text: bytes, name: str) -> list[str] | None:
    """The names of a document's runs, with an empty name if it holds a single run; None if it holds none."""
    if text.lstrip().startswith(b"{") and b"\n{" in text.strip():
        return None  # rows in lines
    try:
        found = documents(text)
    except (ValueError, RecursionError):
        return None
    seen = held(found[0] if len(found) == 1 else found, name)
    return None if seen is None else list(seen.runs) or [""]


def _rows_of_lines(text: bytes) -> Iterator[RowOfRun]:
    for line in text.split(b"\n"):
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(row, dict) and (found := row_of_run(row)) is not None:
            yield found
