"""One file of a run: its follower and its reader, joined into a stream of records."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

from msgspec import Struct

from rltui.discovery import file_roles
from rltui.readers.base import NO_STEP, Reader, Record, Rows
from rltui.readers.compressed import line_reader
from rltui.readers.formats import formats, make_unpacking
from rltui.run.history import Part
from rltui.session.ends import WHOLE_MOST, Extent, read_ends
from rltui.session.pieces import PiecesBeside, header_above
from rltui.sources.base import Follower, Place, SourceError


class Batch(Struct):
    """The result of one read. `restarted`: the file was truncated or replaced, so its records begin a new attempt.
    `again`: the file is a single document, and all of it was read again."""

    records: list[Record]
    bytes_read: int
    more: bool
    restarted: bool = False
    error: SourceError | None = None
    again: bool = False


@dataclass(slots=True)
class Source:
    """What the feeds of all containers have in common. `part`: its table in the run's history. `note`: what the report
    says about the file. `restarting`: the file was rewritten, so its next rows begin a new attempt. `size`: in bytes.
    `mtime`: in seconds since the epoch.

    `remarks`: what its reader did with rows -> how many rows. `hint`: how the user can get more of the file read.

    `gap`: unread bytes in its middle, after `first_bytes` bytes with `first_rows` rows. `in_order`: the rows of both
    ends state rising steps."""

    path: str
    format: str
    place: Place
    size: int
    mtime: float
    part: Part = field(init=False)
    note: str = field(default="", init=False)
    hint: str = field(default="", init=False)
    restarting: bool = field(default=False, init=False)
    gap: int = field(default=0, init=False)
    first_bytes: int = field(default=0, init=False)
    first_rows: int = field(default=0, init=False)
    in_order: bool = field(default=True, init=False)
    other_epoch: bool = field(default=False, init=False)
    remarks: Counter[str] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        self.part = Part(self.path, (formats()[self.format].rank, self.mtime), log=file_roles.log_of(self.path))

    def finish(self) -> list[Record]:
        """The last records of a file that has ended. One without a newline counts too, if it can be parsed."""
        return []

    def rest(self) -> list[Record]:
        """The rows of a quiet file that its reader held back in case later lines complete them."""
        return []

    @property
    def waits(self) -> bool:
        """Whether its reader still holds something back."""
        return False

    def leave_unread(self) -> None:
        """Gives up a file that cannot be read from its end and is too large to read whole."""
        self.gap = self.size
        self.note = f"{self.format} of {self.size >> 20} MiB cannot be read from its end: not read"


@dataclass(slots=True)
class Feed(Source):
    """Reads one file forwards and parses it. `takes_back`: rows that its reader gave early can be taken back."""

    takes_back: ClassVar[bool] = True

    run: str = ""  # the run to read, if the file holds several
    reader: Reader = field(init=False)
    _follower: Follower | None = field(default=None, init=False)
    _at_begin: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        Source.__post_init__(self)
        self.reader = self._made()

    def _made(self) -> Reader:
        made = make_unpacking(self.format, os.path.basename(self.path), self.run)
        lines = line_reader(made)
        if lines is not None:
            lines.takes_back = self.takes_back
        return made

    def _begin(self, head: bytes) -> None:
        """Takes the first bytes. If the header of a table is in another piece, the reader gets it first."""
        self._at_begin = False
        if self.format == "csv" and (header := header_above(PiecesBeside(self.place), self.path, head)):
            self.reader.feed(header)

    @property
    def watched(self) -> list[str]:
        """The paths to watch for changes."""
        return [self.path]

    def read(self, max_bytes: int = 1 << 20) -> Batch:
        """The next records; a rewritten file gets a new reader."""
        if self._follower is None:
            self._follower = self.place.follow(self.path)
        delta = self._follower.read(max_bytes)
        restarted = delta.reset
        if restarted:
            self.reader, self._at_begin = self._made(), True
        if delta.stat is not None:
            self.size, self.mtime = delta.stat.size, delta.stat.mtime
        if delta.data and self._at_begin:
            self._begin(delta.data)
        records = self.reader.feed(delta.data) if delta.data else []
        whole = self.reader.whole and bool(delta.data) and not delta.more
        if whole:
            records += self.reader.finish()
        return Batch(records, len(delta.data), delta.more, restarted, delta.error, again=whole)

    def finish(self) -> list[Record]:
        return self.reader.finish()

    def rest(self) -> list[Record]:
        lines = line_reader(self.reader)
        return [] if lines is None else lines.rest()

    @property
    def waits(self) -> bool:
        lines = line_reader(self.reader)
        return lines is not None and lines.waits

    def close(self) -> None:
        if self._follower is not None:
            self._follower.close()
            self._follower = None


@dataclass(slots=True)
class EndsFeed(Feed):
    """A feed that gives the ends of a file in one batch. A file that cannot be read from its end is read whole, if it
    is not too large."""

    takes_back: ClassVar[bool] = False  # it is not followed

    extent: Extent | None = None
    _ends_reader: Reader | None = field(default=None, init=False)
    _whole: bool = field(default=False, init=False)

    def read(self, max_bytes: int = 1 << 20) -> Batch:
        if self._whole or self.extent is None:
            return Feed.read(self, max_bytes)
        found = read_ends(self.place, self.path, self.format, self.size, self.extent, self.run)
        if found is None and self.size <= WHOLE_MOST:
            self._whole = True
            return Feed.read(self, max_bytes)
        if found is None:
            self.leave_unread()
            return Batch([], 0, False)
        if isinstance(found, SourceError):
            self.gap = self.size
            return Batch([], 0, False, error=found)
        self.gap, self.first_bytes, self.reader = found.gap, found.first_bytes, found.reader
        blocks = [[r for r in part if isinstance(r, Rows)] for part in (found.first, found.newest)]
        self.first_rows = sum(len(block) for block in blocks[0])
        lines = line_reader(found.reader)
        self.other_epoch = found.other_epoch
        guessed = found.other_epoch or (lines is not None and lines.guesses_steps)
        self.in_order = _goes_on(blocks) and not guessed
        return Batch(_joined([*found.first, *found.newest]), found.bytes, False)

    def finish(self) -> list[Record]:
        return self.reader.finish()


def _joined(records: Sequence[Record]) -> list[Record]:
    """The records, with successive blocks of rows joined into one, as each block costs time for each of its columns."""
    out: list[Record] = []
    for record in records:
        if (
            isinstance(record, Rows)
            and out
            and isinstance(before := out[-1], Rows)
            and before.printed == record.printed
        ):
            before.append(record)
        else:
            out.append(record)
    return out


def _goes_on(parts: Sequence[Sequence[Rows]]) -> bool:
    """Whether all rows state rising steps and the last part has more than one row."""
    steps = [step for part in parts for block in part for step in block.steps]
    several = sum(len(block) for block in parts[-1]) > 1
    return several and NO_STEP not in steps and all(a <= b for a, b in pairwise(steps))
