"""What a log holds, by its ends: enough to tell whether it goes on where another one ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from statistics import median_low

from rltui.discovery.relaunches import Held
from rltui.readers.base import NO_STEP, Counted, LogLine, Note, Reader, Record, Rows
from rltui.readers.compressed import line_reader, packing
from rltui.readers.formats import make
from rltui.sources.base import FileStat, Place, SourceError

HEAD = 1 << 16
"""Bytes of the beginning: a trainer may print pages before its first row."""
END = 1 << 15
FORMATS = ("jsonl", "console", "wrapped-console", "verl-console", "trl-console")
MOST_KNOWN = 4096

_known: dict[tuple[str, str, str, int, float], Held | None] = {}
"""What was read of logs that did not change since: the folder of a followed run is listed again and again."""


def held(place: Place, file: FileStat, format: str) -> Held | None:
    """What a log holds; None if it states no steps, or cannot be read."""
    if format not in FORMATS:
        return None
    key = place.name, file.path, format, file.size, file.mtime
    if key not in _known:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = _held(place, file.path, format)
    return _known[key]


def _held(place: Place, path: str, format: str) -> Held | None:
    head = place.head(path, HEAD)
    if isinstance(head, SourceError) or packing(head) is not None:
        return None
    parts = [head]
    if len(head) == HEAD:
        with closing(place.follow(path)) as follower:
            end = follower.tail(END)
        if end.error is not None:
            return None
        parts = [head[: head.rfind(b"\n") + 1], end.data[end.data.find(b"\n") + 1 :]]
    read = [_read(make(format, os.path.basename(path)), part) for part in parts]
    rows = [_rows(records) for records in read]
    if any(one is None for one in rows) or not rows[0]:
        return None
    return _of(read[0], [row for one in rows for row in one or ()])


def _read(reader: Reader, data: bytes) -> list[Record]:
    records = reader.feed(data)
    lines = line_reader(reader)
    if lines is not None:
        records += lines.rest()
    records += reader.finish()
    guessed = lines is not None and lines.guesses_steps
    return [record for record in records if not isinstance(record, LogLine)] if not guessed else [Counted(True, {})]


def _rows(records: Sequence[Record]) -> list[tuple[int, float, dict[str, float]]] | None:
    """Step, time and numbers of each row; None if the steps are not stated."""
    if any(isinstance(record, Counted) and record.on for record in records):
        return None
    found = []
    for block in records:
        if isinstance(block, Rows):
            for i, (step, time) in enumerate(zip(block.steps, block.times, strict=True)):
                if step == NO_STEP:
                    return None
                found.append((step, time, {key: x[i] for key, x in block.values.items() if x[i] == x[i]}))
    return found


def _of(records: Sequence[Record], rows: Sequence[tuple[int, float, dict[str, float]]]) -> Held:
    by_step: dict[int, dict[str, float]] = {}
    for step, _, cells in rows:
        by_step.setdefault(step, {}).update(cells)
    times = [time for _, time, _ in rows if time == time]
    apart = [b - a for a, b in pairwise(sorted(by_step))]
    return Held(
        first=rows[0][0],
        last=rows[-1][0],
        stride=median_low(apart) if apart else 0,
        names=frozenset(key for cells in by_step.values() for key in cells),
        rows=by_step,
        resumes=any(isinstance(record, Note) and record.kind == "resume" for record in records),
        begun=times[0] if times else float("nan"),
        ended=times[-1] if times else float("nan"),
    )
