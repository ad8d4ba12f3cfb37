"""Finds the runs in files that hold several, or one metric of several."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable, Iterator

import orjson

from rltui.readers.base import ContainedRun
from rltui.readers.column_file import SHOWN, as_csv
from rltui.readers.column_kind import column_format
from rltui.readers.compressed import NotSupported, unpacked_head
from rltui.readers.csv_table import CsvTable, cut, headerless, is_points, table_of
from rltui.readers.document_rows import held
from rltui.readers.formats import SEVERAL
from rltui.readers.json_text import documents
from rltui.readers.keys import first_of, step_of
from rltui.readers.row_kinds import run_column

MAX_BYTES = 1 << 26
HEAD = 1 << 16
MOST = 500
"""Most runs in a file: a column with more values does not name runs."""


def runs_in_file(data: bytes, name: str) -> list[ContainedRun]:
    """The runs of a file that may hold several, in their order; one with an empty key if the file holds a single
    run."""
    try:
        plain = unpacked_head(data, MAX_BYTES)
    except NotSupported:
        return []
    if (kind := column_format(plain, name)) is not None:
        return [run._replace(format=kind) for run in _of_columns(plain, name)]
    start = plain.lstrip()[:1]
    if start in (b"{", b"["):
        found = _of_document(plain, name)
        if found:
            return [ContainedRun("json", key, key, "") for key in found]
        return [ContainedRun("jsonl", key, key, "") for key in _apart(_rows_of_lines(plain))]
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
    rows = [(None, None)] if table.run is None else list(_rows_of_table(plain, table, table.run))
    keys = _apart((run or "", step) for run, step in rows)
    metric = table.metric("")
    if table.long is not None:
        named = {name for name, _ in _rows_of_table(plain, table, table.long[0])}
        metric = named.pop() if len(named) == 1 else ""
    only = (rows[0][0] if rows else "") or table.named_run
    return [ContainedRun("csv", key, key or only, "", metric) for key in keys]


def _of_columns(data: bytes, name: str) -> list[ContainedRun]:
    """The runs of a file of columns; none if the columns are not metrics: data sets are saved in the same formats."""
    from rltui.readers.sniff import sniff

    try:
        told = sniff(as_csv(data, SHOWN)[0], f"{name}.csv")
        if told != SEVERAL:
            return [ContainedRun("csv", "", "", "")] if told == "csv" else []
        return runs_in_file(as_csv(data)[0], f"{name}.csv")
    except ValueError:
        return []


def _rows_of_table(text: bytes, table: CsvTable, column: str) -> Iterator[tuple[str, int | None]]:
    run = table.columns.index(column)
    step = None if table.step is None else table.columns.index(table.step)
    for line in text.decode("utf-8-sig", "replace").replace("\0", "").splitlines():
        try:
            cells = cut(line, table.separator)
        except csv.Error:
            continue
        if len(cells) == len(table.columns) and cells[run].strip() != column:
            yield cells[run].strip(), None if step is None else step_of(cells[step])[0]


def _of_document(text: bytes, name: str) -> list[str]:
    if text.lstrip().startswith(b"{") and b"\n{" in text.strip():
        return []  # rows in lines
    try:
        found = documents(text)
    except (ValueError, RecursionError):
        return []
    seen = held(found[0] if len(found) == 1 else found, name)
    return list(seen.runs) if seen is not None else []


def _rows_of_lines(text: bytes) -> Iterator[tuple[str, int | None]]:
    for line in text.split(b"\n"):
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        column = run_column(row) if isinstance(row, dict) else None
        if column is not None and isinstance(row[column], str | int):
            key = first_of("step", row)
            yield str(row[column]), step_of(row[key])[0] if key is not None else None


def _apart(rows: Iterable[tuple[str, int | None]]) -> list[str]:
    """The values of a run column, if they are runs side by side. If each goes on where the one before ended, they are
    launches of one run; if each has a single row, the column does not name runs."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    count: dict[str, int] = {}
    for key, step in rows:
        count[key] = count.get(key, 0) + 1
        if step is not None:
            first.setdefault(key, step)
            last[key] = max(last.get(key, step), step)
        if len(count) > MOST:
            return [""]
    keys = list(count)
    goes_on = all(a in last and b in first and first[b] > last[a] for a, b in itertools.pairwise(keys))
    return [""] if len(keys) < 2 or goes_on or max(count.values()) < 2 else keys
