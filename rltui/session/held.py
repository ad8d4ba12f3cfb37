"""How a log begins and ends: enough to find out whether it continues where another one ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import pairwise
from statistics import median_low
from typing import TypeVar

from rltui.discovery.relaunches import FEWEST, LogBegin, LogEnd
from rltui.readers.base import NO_STEP, Counted, Note, Record, Rows
from rltui.readers.compressed import line_reader, packing
from rltui.readers.console.progress_bar import bar, may_be_bar
from rltui.readers.formats import make
from rltui.sources.base import FileStat, Place, SourceError

SIZES = (1 << 12, 1 << 14, 1 << 16)
"""Bytes that are read from the beginning or the end. The next size is read if there are too few rows: a trainer may
print pages before its first row."""
FORMATS = ("jsonl", "console", "wrapped-console", "verl-console", "trl-console")
MOST_KNOWN = 4096

_Row = tuple[int, float, dict[str, float]]
"""Step, time and numbers."""
_Known = dict[tuple[str, str, str, int, float], object]
_Seen = TypeVar("_Seen")
_begun: _Known = {}
_ended: _Known = {}
"""What was read from logs that have not changed since: the folder of a followed run is listed again and again."""


def begun(place: Place, file: FileStat, format: str) -> LogBegin | None:
    """How a log begins; None if it states no steps or cannot be read."""
    return _kept(_begun, place, file, format, _begin)


def ended(place: Place, file: FileStat, format: str) -> LogEnd | None:
    """How a log ends."""
    return _kept(_ended, place, file, format, _end)


def _kept(
    known: _Known, place: Place, file: FileStat, format: str, read: Callable[[Place, FileStat, str], _Seen | None]
) -> _Seen | None:
    if format not in FORMATS:
        return None
    key = place.name, file.path, format, file.size, file.mtime
    if key not in known:
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[key] = read(place, file, format)
    return known[key]  # type: ignore[return-value]


def _begin(place: Place, file: FileStat, format: str) -> LogBegin | None:
    head, records, rows = b"", list[Record](), list[_Row]()
    for size in SIZES:
        read = place.head(file.path, size)
        if isinstance(read, SourceError) or packing(read) is not None:
            return None
        head = read[: read.rfind(b"\n") + 1] if len(read) == size else read
        records = _records(file, format, head)
        rows = _rows(records)
        if len({step for step, _, _ in rows}) >= FEWEST or len(read) < size:
            break
    if not rows:
        return None
    by_step: dict[int, dict[str, float]] = {}
    for step, _, cells in rows:
        by_step.setdefault(step, {}).update(cells)
    apart = [b - a for a, b in pairwise(sorted(by_step))]
    notes = [record for record in records if isinstance(record, Note) and record.after is None]
    stride = median_low(apart) if apart else 0
    resumes = any(note.kind == "resume" for note in notes)
    if not resumes and 0 < stride < rows[0][0]:  # a log that holds its launch is whole, so it began at a later step
        planned = [record.total for record in records if isinstance(record, Note) and record.kind == "progress"]
        resumes = any(note.kind == "start" for note in notes) or _began_at(head, planned) == 0
    return LogBegin(rows[0][0], stride, by_step, resumes, rows[0][1])


def _began_at(head: bytes, planned: Sequence[int | None]) -> int | None:
    """The step that the first training bar shows at the beginning of a log; None if there is no such bar. The bar's
    total is one of `planned`."""
    for line in head.replace(b"\r", b"\n").split(b"\n"):
        painted = bar(line) if may_be_bar(line) else None
        if painted is not None and painted.total and painted.total in planned:
            return painted.done
    return None


def _end(place: Place, file: FileStat, format: str) -> LogEnd | None:
    rows: list[_Row] = []
    with closing(place.follow(file.path)) as follower:
        for size in SIZES:
            end = follower.tail(size)
            if end.error is not None:
                return None
            data = end.data[end.data.find(b"\n") + 1 :] if end.offset else end.data
            rows = _rows(_records(file, format, data))
            if len({step for step, _, _ in rows}) >= FEWEST or not end.offset:
                break
    return LogEnd(rows[-1][0], rows[-1][1]) if rows else None


def _records(file: FileStat, format: str, data: bytes) -> list[Record]:
    reader = make(format, os.path.basename(file.path))
    records = reader.feed(data)
    lines = line_reader(reader)
    if lines is not None:
        records += lines.rest()
    records += reader.finish()
    return [*records, Counted(True, {})] if lines is not None and lines.guesses_steps else records


def _rows(records: Sequence[Record]) -> list[_Row]:
    """The rows; empty if their steps are not stated."""
    if any(isinstance(record, Counted) and record.on for record in records):
        return []
    return [
        (step, time, {key: x[i] for key, x in block.values.items() if x[i] == x[i]})
        for block in records
        if isinstance(block, Rows)
        for i, (step, time) in enumerate(zip(block.steps, block.times, strict=True))
        if step != NO_STEP
    ]
