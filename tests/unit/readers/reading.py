"""Feeding readers in pieces, and what came out in a form that can be compared."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from rltui.readers.base import ConfigRecord, Counted, LogLine, Note, Reader, Record, Rows
from rltui.readers.formats import make

Cells = dict[str, float | None]

SHARE = 3
"""Within a line that stands for those of its form, a log is cut at one in so many places."""
SHARE_ELSEWHERE = 40
LINES = 4
"""So many lines are cut within, each of another form."""


def cuts(data: bytes, begin: int = 0, end: int | None = None) -> list[int]:
    """Places of `range(begin, end)` to cut this log at.

    To open a log anew at each byte costs minutes, and what a cut does depends on little: on the form of the line that
    it is in (its words without numbers), on where in that line it is, and on whether a line of that form was seen
    before.
    So these are the ends of the first two lines of each form and of the last one (before and behind the line, behind
    its first byte and before its last), a third of the bytes of a line of some forms, and few places anywhere.
    Which line, which bytes and which few places is drawn anew in each run; the seed that pytest prints gives the same
    ones again."""
    found: set[int] = set()
    every = range(begin, len(data) if end is None else end)
    alike: dict[bytes, list[range]] = {}
    for line in re.finditer(rb"[^\r\n]*[\r\n]*", data):
        if line.end() > begin and line.start() < every.stop:
            alike.setdefault(re.sub(rb"[^A-Za-z]+", b" ", line[0]), []).append(range(line.start(), line.end()))
    for lines in alike.values():
        for ends in (*lines[:2], lines[-1]):
            found |= {ends.start, ends.start + 1, ends.stop - 1, ends.stop}
    for lines in random.sample(list(alike.values()), min(LINES, len(alike))):
        found.update(drawn(random.choice(lines), SHARE))
    return sorted((found & set(every)) | set(drawn(every, SHARE_ELSEWHERE)))


def drawn(places: range, share: int) -> list[int]:
    return random.sample(places, -(-len(places) // share))


@dataclass
class Read:
    """All records of one file. A cell that was logged as NaN or an infinity is None here."""

    reader: Reader
    rows: list[tuple[int, Cells]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    configs: list[ConfigRecord] = field(default_factory=list)
    log: list[LogLine] = field(default_factory=list)
    counted: bool = False  # rows have a count for a step

    @property
    def steps(self) -> list[int]:
        return [step for step, _ in self.rows]

    def kinds(self) -> list[str]:
        return [note.kind for note in self.notes]

    def take(self, records: Iterable[Record]) -> None:
        for record in records:
            if isinstance(record, Counted):
                self.counted = record.on
                self.rows = [(record.steps.get(step, step), cells) for step, cells in self.rows]
            elif isinstance(record, Rows):
                check(record)
                for i, step in enumerate(record.steps):
                    cells: Cells = {key: column[i] for key, column in record.values.items() if column[i] == column[i]}
                    cells.update({key: None for key, bad in record.nonfinite.items() if i in bad})
                    self.rows.append((step, cells))
                self.times.extend(record.times)
            elif isinstance(record, Note):
                self.notes.append(record)
            elif isinstance(record, ConfigRecord):
                self.configs.append(record)
            elif isinstance(record, LogLine):
                self.log.append(record)


def check(rows: Rows) -> None:
    """The promises of `Rows`: equal lengths, NaN where nothing finite was logged."""
    n = len(rows)
    assert len(rows.times) == n
    assert all(len(column) == n for column in rows.values.values())
    for key, bad in rows.nonfinite.items():
        assert all(rows.values[key][i] != rows.values[key][i] for i in bad)


def read(format: str, data: bytes | str, sizes: Iterable[int] = (), finish: bool = True) -> Read:
    """Reads a whole file, cut into pieces of the given sizes and one last piece."""
    if isinstance(data, str):
        data = data.encode()
    out = Read(make(format))
    at = 0
    for size in sizes:
        out.take(out.reader.feed(data[at : at + size]))
        at += size
    out.take(out.reader.feed(data[at:]))
    if finish:
        out.take(out.reader.finish())
    return out
