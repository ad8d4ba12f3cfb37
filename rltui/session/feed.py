"""One file of a run: its follower and its reader joined into a stream of records."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from rltui.readers.base import Reader, Record
from rltui.readers.registry import make, make_unpacking
from rltui.run.history import Part
from rltui.session.tail import TAIL, read_end
from rltui.sources.base import Follower, Place, SourceError

RANKS = {
    "jsonl": 50,
    "json-list": 47,
    "csv": 45,
    "trackio": 43,
    "mlflow": 42,
    "mlflow-files": 41,
    "tensorboard": 40,
    "swanlab": 35,
    "wandb": 30,
    "wandb-online": 30,
    "verl-console": 20,
    "trl-console": 20,
    "console": 20,
}
"""Which container wins a cell of the same step and key: files written for machines before printed text, a
trainer_state.json (a copy inside a checkpoint) last."""


@dataclass(slots=True)
class Batch:
    """What one read brought. `restarted`: the file was truncated or replaced, records begin a new attempt."""

    records: list[Record]
    bytes_read: int
    more: bool
    restarted: bool = False
    error: SourceError | None = None


@dataclass(slots=True)
class Source:
    """What the feeds of all containers have in common. `part` is its table in the run's history, `note` what to say of
    it, `restarting`: it was rewritten, its next rows begin a new attempt. `size` in bytes, `mtime` since the epoch."""

    path: str
    format: str
    place: Place
    size: int
    mtime: float
    part: Part = field(init=False)
    note: str = field(default="", init=False)
    restarting: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.part = Part(self.path, (RANKS.get(self.format, 10), self.mtime))

    def finish(self) -> list[Record]:
        """The file ends here: an unterminated last record that parses counts."""
        return []


@dataclass(slots=True)
class Feed(Source):
    """Reads one file forwards and parses it."""

    reader: Reader = field(init=False)
    _follower: Follower | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        Source.__post_init__(self)
        self.reader = make_unpacking(self.format, os.path.basename(self.path))

    @property
    def watched(self) -> list[str]:
        """The paths whose change brings something to read."""
        return [self.path]

    def read(self, max_bytes: int = 1 << 20) -> Batch:
        """The next records; a rewritten file starts with a fresh reader."""
        if self._follower is None:
            self._follower = self.place.follow(self.path)
        delta = self._follower.read(max_bytes)
        restarted = delta.reset
        if restarted:
            self.reader = make_unpacking(self.format, os.path.basename(self.path))
        if delta.stat is not None:
            self.size, self.mtime = delta.stat.size, delta.stat.mtime
        records = self.reader.feed(delta.data) if delta.data else []
        if self.reader.whole and delta.data and not delta.more:
            records += self.reader.finish()
        return Batch(records, len(delta.data), delta.more, restarted, delta.error)

    def finish(self) -> list[Record]:
        return self.reader.finish()

    def close(self) -> None:
        if self._follower is not None:
            self._follower.close()
            self._follower = None


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
