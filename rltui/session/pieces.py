"""A table that was split into several files, of which only the first has the header."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator

from rltui.discovery.file_roles import log_of
from rltui.lazy_regex import lazy
from rltui.readers.csv_table import SEPARATORS, cut, step_column
from rltui.readers.keys import is_time
from rltui.readers.rows import number
from rltui.sources.base import Place, SourceError

_HEAD = 1 << 14
_MOST = 9
"""The most pieces that rotation leaves."""
_NUMBERED = lazy(r"^(.*?)([-_.]?(?:part|shard|chunk|segment)?[-_.]?)(\d{1,5})(\.[A-Za-z]+)$")


class PiecesBeside:
    """The files beside a file that rotation made from the same log. Each folder is listed only once, because the search
    for runs asks about every file in it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._by_log: dict[str, dict[str, list[str]]] = {}  # folder -> log -> its pieces

    def of(self, path: str) -> list[str]:
        folder, log = os.path.dirname(path) or os.curdir, log_of(path)
        if folder not in self._by_log:
            known = self._by_log[folder] = {}
            for one in self.place.walk(folder).files:
                known.setdefault(log_of(one.path), []).append(one.path)
        return [other for other in self._by_log[folder].get(log, ()) if other != path]


def header_above(beside: PiecesBeside, path: str, head: bytes) -> bytes:
    """The header of another piece, if a file begins with a row of numbers and the header has as many columns; else
    empty."""
    row = _cells(head)
    if row is None or not all(number(cell) is not None or is_time(cell) or not cell for cell in row[1]):
        return b""
    for sibling in _pieces(beside, path):
        begin = beside.place.head(sibling, _HEAD)
        above = None if isinstance(begin, SourceError) else _cells(begin)
        if above is None or above[0] != row[0] or len(above[1]) != len(row[1]):
            continue
        if step_column(above[1]) is not None and not any(number(cell) is not None for cell in above[1]):
            return begin.partition(b"\n")[0].strip(b"\r") + b"\n" if isinstance(begin, bytes) else b""
    return b""


def _cells(head: bytes) -> tuple[str, list[str]] | None:
    """The separator and cells of the first line; None if the line is incomplete or not a row of a table."""
    line, newline, _ = head.partition(b"\n")
    if not newline or len(line) > _HEAD:
        return None
    text = line.decode("utf-8", "replace").strip("\r\ufeff")
    separator = max(SEPARATORS, key=text.count)
    try:
        cells = [cell.strip() for cell in cut(text, separator)]
    except csv.Error:
        return None
    return (separator, cells) if len(cells) > 1 else None


def _pieces(beside: PiecesBeside, path: str) -> Iterator[str]:
    """Paths that other pieces of a file may have: files beside it that rotation made from the same log, with a number
    or a date at the end, and `metrics_1.csv` for `metrics_2.csv`."""
    yield from beside.of(path)
    folder, name = os.path.split(path)
    if (found := _NUMBERED.match(name)) is not None:
        stem, between, digits, ending = found.groups()
        yield os.path.join(folder, stem + ending)
        count = int(digits)
        for n in range(count - 1, max(-1, count - 1 - _MOST), -1):
            yield os.path.join(folder, f"{stem}{between}{n:0{len(digits)}d}{ending}")
