"""Feeds for containers that are not a single stream of bytes: a database, a folder of files. They have the interface of
`Feed`."""

from __future__ import annotations

import os
import time as clock
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from rltui.discovery.file_roles import evaluates
from rltui.readers.base import DatabaseReader
from rltui.readers.compressed import line_reader
from rltui.readers.formats import formats_held, make_database
from rltui.readers.step_files import FORMAT as STEP_FILES
from rltui.readers.step_files import StepFilesReader, family
from rltui.readers.trackers.mlflow import METRICS, PARAMS, MlflowStoreReader
from rltui.readers.trackers.sqlite_bytes import JOURNAL_SUFFIX, MAX_BYTES, WAL_SUFFIX, Damaged, open_bytes
from rltui.session.ends import ALL, WHOLE_MOST, Extent
from rltui.session.feed import Batch, EndsFeed, Feed, Source
from rltui.sources.base import FileStat, Follower, Place, SourceError

if TYPE_CHECKING:
    from rltui.session.online_feed import OnlineFeed


_MOST_STEP_FILES = 20_000
_STEP_FILE_BYTES = 1 << 16


@dataclass(slots=True)
class StepFilesFeed(Source):
    """A folder with one file a step. `path`: one of these files. If a file was rewritten, or appears after one of a
    later step, the whole run is read again."""

    reader: StepFilesReader = field(init=False)
    _seen: dict[str, tuple[int, float, str]] = field(default_factory=dict, init=False)
    _last: int = field(default=-1, init=False)  # the step of the newest file that was read

    def __post_init__(self) -> None:
        Source.__post_init__(self)  # slots replace the class, so `super()` would not find it
        self.reader = StepFilesReader(evaluates(self.path))

    @property
    def watched(self) -> list[str]:
        return [self.path, self._folder]

    @property
    def _folder(self) -> str:
        own = family(self.path)
        return os.path.dirname(self.path) if own is None else own.folder

    def read(self, max_bytes: int = 1 << 20) -> Batch:
        listing = self.place.walk(self._folder or os.curdir)
        if listing.error is not None:
            return Batch([], 0, False, error=listing.error)
        own = family(self.path)
        files = {
            named.number: file
            for file in listing.files
            if own is not None and (named := family(file.path)) is not None and named.paths == own.paths
        }
        if len(files) > _MOST_STEP_FILES:
            self.note = f"more than {_MOST_STEP_FILES} files: those of earlier steps are not read"
        ordered = sorted(files.items())[-_MOST_STEP_FILES:]
        changed = [(step, file) for step, file in ordered if self._seen.get(file.path) != _written(file)]
        restarted = bool(changed) and changed[0][0] <= self._last
        if restarted:
            self.reader, changed = StepFilesReader(evaluates(self.path)), ordered
            self._seen.clear()
        texts = []
        for step, file in changed:
            data = self.place.read(file.path, _STEP_FILE_BYTES)
            if isinstance(data, bytes):
                texts.append((file.path, data))
                self._seen[file.path] = _written(file)
                self._last = step
            self.mtime = max(self.mtime, file.mtime)
        self.size = sum(file.size for _, file in ordered)
        return Batch(self.reader.read(texts), sum(len(data) for _, data in texts), False, restarted)

    def close(self) -> None:
        """Nothing is held between reads."""


def _written(file: FileStat) -> tuple[int, float, str]:
    return file.size, file.mtime, file.identity


_TRIES = 3
"""How often a poll tries to read a database between two writes."""
_SHARE = 10.0
"""A database is read again only after this many times the duration of its last read."""
_PARAM_BYTES = 1 << 16
_STORE_FILES = 10_000


def read_database(place: Place, path: str) -> tuple[bytes, bytes] | SourceError:
    """The bytes of a database and of its write-ahead log, both from one moment if neither changed meanwhile."""
    database = b""
    wal: bytes | SourceError = b""
    for _ in range(_TRIES):
        before = _state(place, path)
        if isinstance(before[0], FileStat) and before[0].size > MAX_BYTES:
            return SourceError(path, "io", f"is larger than {MAX_BYTES >> 20} MiB: not read")
        found = place.read(path, MAX_BYTES)
        wal = place.read(path + WAL_SUFFIX, MAX_BYTES) if before[1] is not None else b""
        if isinstance(found, SourceError):
            return found
        database = found
        if _state(place, path) == before:
            break
    return database, b"" if isinstance(wal, SourceError) else wal


def _state(place: Place, path: str) -> tuple[FileStat | SourceError, FileStat | None]:
    wal = place.stat(path + WAL_SUFFIX)
    return place.stat(path), wal if isinstance(wal, FileStat) and wal.size else None


@dataclass(slots=True)
class DatabaseFeed(Source):
    """One run of a database. The file is read whole each time it changed; rows continue where the last read ended."""

    run: str
    reader: DatabaseReader = field(init=False)
    _seen: tuple[FileStat | SourceError, FileStat | None] | None = field(default=None, init=False)
    _not_before: float = field(default=0.0, init=False)
    _damage: SourceError | None = field(default=None, init=False)  # the error of the state `_seen`

    def __post_init__(self) -> None:
        Source.__post_init__(self)
        self.reader = make_database(self.format, self.run)

    @property
    def watched(self) -> list[str]:
        return [self.path, self.path + WAL_SUFFIX]

    def read(self, max_bytes: int = 1 << 20) -> Batch:
        """What was added since the last read. Another file at the same path is read from its beginning."""
        started = clock.monotonic()
        state = _state(self.place, self.path)
        if isinstance(state[0], SourceError):
            self._seen = None
            return Batch([], 0, False, error=state[0])
        if state == self._seen or started < self._not_before:
            return Batch([], 0, False, error=self._damage)
        before = self._seen[0] if self._seen else None
        restarted = isinstance(before, FileStat) and before.identity != state[0].identity
        found = read_database(self.place, self.path)
        if isinstance(found, SourceError):
            return Batch([], 0, False, error=found)
        try:
            connection = open_bytes(*found)
        except Damaged as damage:  # perhaps half written: try again after the next change
            self._seen = state
            self._damage = SourceError(self.path, "io", f"the database cannot be read: {damage}")
            return Batch([], 0, False, error=self._damage)
        self._damage = None
        if restarted:
            self.reader = make_database(self.format, self.run)
        try:
            records = self.reader.read(connection)
        finally:
            connection.close()
        self._seen = state
        self.size, self.mtime = state[0].size, max(s.mtime for s in state if isinstance(s, FileStat))
        self.note = self._unfinished()
        self._not_before = clock.monotonic() + _SHARE * (clock.monotonic() - started)
        return Batch(records, sum(map(len, found)), False, restarted)

    def _unfinished(self) -> str:
        journal = self.place.stat(self.path + JOURNAL_SUFFIX)
        is_hot = isinstance(journal, FileStat) and journal.size > 0
        return "a transaction was open when it was read: the newest rows may be missing" if is_hot else ""

    def close(self) -> None:
        """Nothing is held between reads."""


@dataclass(slots=True)
class StoreFeed(Source):
    """One run of an MLflow file store. `path`: its `meta.yaml`. Each poll lists the folder and reads what was added."""

    reader: MlflowStoreReader = field(default_factory=MlflowStoreReader, init=False)
    _followers: dict[str, Follower] = field(default_factory=dict, init=False)
    _sizes: dict[str, tuple[int, float, str]] = field(default_factory=dict, init=False)

    @property
    def watched(self) -> list[str]:
        folder = os.path.dirname(self.path)
        return [self.path, os.path.join(folder, METRICS), *self._followers]

    def read(self, max_bytes: int = 1 << 20) -> Batch:
        """New values and params. If the file of a metric was rewritten, the whole run is read again."""
        folder = os.path.dirname(self.path)
        listing = self.place.walk(folder)
        if listing.error is not None:
            return Batch([], 0, False, error=listing.error)
        changed = [
            (os.path.relpath(file.path, folder).replace(os.sep, "/"), file)
            for file in listing.files[:_STORE_FILES]
            if self._sizes.get(file.path) != (file.size, file.mtime, file.identity)
        ]
        meta, params, metrics, bytes_read = b"", [], [], 0
        for name, file in changed:
            if file.path == self.path:
                data = self.place.read(file.path, _PARAM_BYTES)
                meta = data if isinstance(data, bytes) else b""
            elif name.startswith(f"{PARAMS}/"):
                data = self.place.read(file.path, _PARAM_BYTES)
                if isinstance(data, bytes):
                    params.append((name.partition("/")[2], data))
            elif name.startswith(f"{METRICS}/"):
                pieces = self._follow(file.path)
                if pieces is None:
                    return self._anew()
                metrics.append((name.partition("/")[2], pieces))
                bytes_read += len(pieces)
            self._sizes[file.path] = (file.size, file.mtime, file.identity)
            self.mtime = max(self.mtime, file.mtime)
        if len(listing.files) > _STORE_FILES:
            self.note = f"more than {_STORE_FILES} files: the rest is not read"
        self.size = max(self.size, sum(file.size for file in listing.files))
        return Batch(self.reader.read(meta, params, metrics), bytes_read, False)

    def _follow(self, path: str) -> bytes | None:
        """The bytes after those already read; None if the file was rewritten."""
        follower = self._followers.get(path)
        if follower is None:
            follower = self._followers[path] = self.place.follow(path)
        pieces = b""
        while True:
            delta = follower.read()
            if delta.reset:
                return None
            pieces += delta.data
            if not delta.more:
                return pieces

    def _anew(self) -> Batch:
        self.close()
        self._sizes.clear()
        self.reader = MlflowStoreReader()
        again = self.read()
        return Batch(again.records, again.bytes_read, again.more, restarted=True, error=again.error)

    def close(self) -> None:
        for follower in self._followers.values():
            follower.close()
        self._followers.clear()


if TYPE_CHECKING:
    AnyFeed: TypeAlias = Feed | DatabaseFeed | StoreFeed | StepFilesFeed | OnlineFeed


def feed_for(
    path: str, format: str, place: Place, stat: FileStat, inside: str = "", extent: Extent | None = ALL
) -> AnyFeed:
    """The feed of one container. `extent`: how much is read. `inside`: the key of the run in a database that may hold
    several."""
    feed = _feed_for(path, format, place, stat, inside, extent)
    if extent is not ALL and isinstance(feed, DatabaseFeed | StoreFeed) and stat.size > WHOLE_MOST:
        feed.leave_unread()
    return feed


def _feed_for(path: str, format: str, place: Place, stat: FileStat, inside: str, extent: Extent | None) -> AnyFeed:
    if format in formats_held("in a database"):
        return DatabaseFeed(path, format, place, stat.size, stat.mtime, inside)
    if format == "mlflow-files":
        return StoreFeed(path, format, place, stat.size, stat.mtime)
    if format == STEP_FILES:
        return StepFilesFeed(path, format, place, stat.size, stat.mtime)
    if format == "wandb-online":
        from rltui.session.online_feed import OnlineFeed

        return OnlineFeed(path, format, place, stat.size, stat.mtime, extent is not ALL)
    if extent is ALL:
        return Feed(path, format, place, stat.size, stat.mtime, inside)
    whole = stat.size <= extent.whole_bytes
    feed = (Feed if whole else partial(EndsFeed, extent=extent))(path, format, place, stat.size, stat.mtime, inside)
    if not extent.lines and (lines := line_reader(feed.reader)) is not None:
        lines.only_rows()
    return feed
