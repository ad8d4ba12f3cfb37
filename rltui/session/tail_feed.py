"""The newest rows of a long file at once, before its history is read: its last bytes through a reader of their own."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from rltui.readers.base import Reader, Record
from rltui.readers.registry import make
from rltui.run.history import Part
from rltui.session.feed import Batch, Feed
from rltui.session.tail import TAIL, read_end
from rltui.sources.base import SourceError


@dataclass(slots=True)
class TailFeed:
    """A feed of the rows at the end of a file, and of what its beginning says besides rows (config, banners)."""

    whole: Feed
    part: Part = field(init=False)
    reader: Reader = field(init=False)
    note: str = ""
    restarting: bool = False
    _read: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.part = Part(self.whole.part.name, self.whole.part.rank)
        self.reader = make(self.whole.format, os.path.basename(self.whole.path))

    @property
    def path(self) -> str:
        return self.whole.path

    @property
    def format(self) -> str:
        return self.whole.format

    @property
    def size(self) -> int:
        return self.whole.size

    @property
    def mtime(self) -> float:
        return self.whole.mtime

    @property
    def watched(self) -> list[str]:
        return [self.path]

    def read(self, max_bytes: int = TAIL) -> Batch:
        """The records at the end of the file, in one batch."""
        found = read_end(self.whole.place, self.path, self.format, self.reader, max_bytes)
        if found is None or isinstance(found, SourceError):
            return Batch([], 0, False, error=found)
        self._read = True
        return Batch(*found, more=False)

    def finish(self) -> list[Record]:
        """The file ends here: an unterminated last record that parses counts, where the end was read."""
        return self.reader.finish() if self._read else []

    def close(self) -> None:
        """Nothing is held."""
