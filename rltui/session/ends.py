"""How a run stands, told from the ends of its files alone: its first rows, its newest rows, what its log says last.

A list of a thousand runs cannot read them. What lies between the ends is not seen: peaks, the step at which something
began, an evaluation that is further back.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import repeat
from math import nan

import numpy as np

from rltui.discovery.found import Found
from rltui.frameworks.detect import detect_dialect
from rltui.frameworks.load import GENERIC, dialect
from rltui.frameworks.resolve import bare_key, resolve
from rltui.readers.base import ConfigRecord, Exit, LogLine, Note, Reader, Record, Rows, RunInfo
from rltui.readers.compressed import packing
from rltui.readers.console.reader import ConsoleReader
from rltui.readers.registry import DATABASES, make, make_unpacking
from rltui.run.config import Config
from rltui.run.identity import algorithm
from rltui.run.liveness import Evidence, RunState, judge
from rltui.run.names import Names, canonical_series
from rltui.run.notes import Notes
from rltui.run.progress import planned_steps
from rltui.run.table import Series, Table
from rltui.session.container_feeds import feed_for
from rltui.session.tail import BLOCK, joint
from rltui.sources.base import FileStat, SourceError

HEAD = 1 << 13
TAIL = 1 << 14
"""Bytes read of the beginning and of the end of a file: some 3 and 6 rows of 60 metrics of a console log."""
BLOCKED = ("wandb", "swanlab")
"""Formats that say everything twice and are read from a block's border on: one block of the beginning, of the end what
stands behind the last border but one at most."""
BLOCKED_LEAST = 3 * BLOCK // 4
WHOLE = 1 << 16
"""Files up to this size are read whole."""
WHOLE_MOST = 1 << 22
"""So are files that cannot be read from their end (packed, databases, one JSON document); larger ones are left out."""
LAST_TRY = 1 << 18
"""Where the end holds no row but other output, more of it is read, up to this."""
_OWN = frozenset(("progress_frac", "epoch", "lr", "total_loss", "reward_mean"))  # that tell the plan
_OWN_KEYS = ("critic/advantages/", "critic/returns/")  # that tell the algorithm


@dataclass(frozen=True, slots=True)
class Ends:
    """A run, as far as the ends of its files tell. `table` holds the rows of the ends and no others; `gap` is the
    number of its first row behind the gap, None where the run was read whole.

    `newest` is the time of the newest row, else when its file was last written (`is_file_time`), in seconds since the
    epoch; `written` is the last write. `pace_s`: seconds between the newest rows, usually. `note`: what was not read,
    and why.
    """

    table: Table
    names: Names
    framework: str | None
    algorithm: str | None
    planned: int | None
    state: RunState
    gap: int | None
    newest: float | None
    is_file_time: bool
    written: float | None
    pace_s: float | None
    note: str

    def series(self, name: str) -> Series | None:
        """By canonical name or raw key, as `Run.series`."""
        found = canonical_series(self.table, self.names, name)
        return found if found is not None else self.table.series(name)

    @property
    def step(self) -> int | None:
        return self.table.head_step

    @property
    def newest_rows(self) -> int:
        """Rows of the end."""
        return self.table.n - (self.gap or 0)


def read_ends(found: Found, files: Mapping[str, FileStat], wanted: frozenset[str]) -> Ends:
    """The ends of the best metric file of a run and of its newest console log. `files`: those of its listing, by path.
    `wanted`: the metrics to keep, by canonical name or raw key."""
    notes, config = Notes(), Config()
    hints: list[str] = []
    told: list[str] = []
    rows: list[list[Rows]] = [[], []]  # of the beginning, of the end
    exited: Exit | None = None
    chosen = _chosen(found, files)
    last: int | None = None
    for file, format in chosen:
        is_first, step = file is chosen[0][0], None
        said: list[tuple[Note, int | None]] = []
        for records, is_end in _records(found, file, format, told):
            for record in records:
                if isinstance(record, Rows):
                    step = record.steps[-1] if len(record) else step
                    if is_first:  # rows of one file only: two would have to be merged
                        rows[is_end].append(record)
                elif isinstance(record, Note):
                    said.append((record, step if step is not None or not is_end else last))
                    hints.append(record.text)
                elif isinstance(record, ConfigRecord):
                    config.add(record.values, record.origin)
                elif isinstance(record, RunInfo):
                    hints += record.values.values()
                elif isinstance(record, Exit):
                    exited = record
        last = step if is_first else last
        ahead = 0 if last is None or step is None else last - step
        for note, at in said:
            notes.add(_moved(note, ahead), file.path, None if at is None else at + ahead)
        notes.reach(file.path, None if step is None else step + ahead)
    keys = tuple(dict.fromkeys(key for end in rows for block in end for key in block.values))
    identity = detect_dialect(keys, config.raw, hints)
    name = GENERIC if identity is None else identity.dialect
    framework = None if identity is None else dialect(name).framework
    canonical, kept = _kept(keys, name, framework, wanted)
    table = Table()
    table.add(_joined([*rows[0], *rows[1]], kept))
    gap = None
    if rows[0] and rows[1] and rows[1][0].steps:
        gap = int(table.steps.searchsorted(rows[1][0].steps[0]))
    names = _names(tuple(table.columns), name)
    planned = planned_steps(config, name, notes, cache(lambda metric: canonical_series(table, names, metric)))
    newest = table.newest_time or notes.newest_time
    written = max((file.mtime for file, _ in chosen), default=None)
    settings = config.resolved(name) if config.raw else {}
    return Ends(
        table=table,
        names=names,
        framework=framework,
        algorithm=algorithm(name, settings, canonical, hints, table),
        planned=planned,
        state=judge(Evidence(table, planned, notes, exited)),
        gap=gap,
        newest=newest if newest is not None else written,
        is_file_time=newest is None,
        written=written,
        pace_s=_pace(table, gap or 0),
        note="; ".join(dict.fromkeys(told)),
    )


@lru_cache(maxsize=256)
def _kept(
    keys: tuple[str, ...], dialect_name: str, framework: str | None, wanted: frozenset[str]
) -> tuple[set[str], dict[str, str]]:
    """All metrics that keys stand for, and the keys to keep with their bare names. Remembered: a sweep's are alike."""
    metrics = {key: resolve(key, dialect_name).canonical for key in keys}
    kept = {
        key: bare_key(key, framework)
        for key, metric in metrics.items()
        if metric in wanted or metric in _OWN or key in wanted or key.startswith(_OWN_KEYS)
    }
    return {metric for metric in metrics.values() if metric is not None}, kept


@lru_cache(maxsize=256)
def _names(columns: tuple[str, ...], dialect_name: str) -> Names:
    names = Names()
    names.refresh(columns, dialect_name)
    return names


def _moved(note: Note, by: int) -> Note:
    """A log that is read from its end counts steps from anywhere: its newest row is the run's newest."""
    return note if not by or note.step is None else note._replace(step=note.step + by)


def _joined(blocks: list[Rows], kept: Mapping[str, str]) -> Rows:
    """All rows as one block, with the columns that are kept."""
    out = Rows()
    for block in blocks:
        start = len(out)
        out.steps += block.steps
        out.times += block.times
        for key, column in block.values.items():
            name = kept.get(key)
            if name is not None:
                held = out.values.setdefault(name, array("d"))
                held.extend(repeat(nan, start - len(held)))
                held += column
        for key, places in block.nonfinite.items():
            if key in kept:
                out.nonfinite.setdefault(kept[key], []).extend(start + place for place in places)
    for column in out.values.values():
        column.extend(repeat(nan, len(out) - len(column)))
    return out


def _chosen(found: Found, stats: Mapping[str, FileStat]) -> list[tuple[FileStat, str]]:
    """The newest file of the format that is believed first (of a trainer's states the longest), and the newest console
    log where that is another."""
    files = [(stats[path], format) for path, format in found.candidate.files if path in stats]
    if not files:
        return []
    alike = [f for f in files if f[1] == files[0][1]]
    if files[0][1] == "trainer-state":  # each holds the whole history up to its checkpoint
        best = max(alike, key=lambda f: (f[0].size, f[0].mtime))
    else:
        best = max(alike, key=lambda f: f[0].mtime)
    consoles = [f for f in files if f[1].endswith("console")]
    if not consoles or best[1] == consoles[0][1]:
        return [best]
    own = [f for f in consoles if "/wandb/" not in f[0].path]  # W&B's copy lacks what came after W&B
    return [best, max(own or consoles, key=lambda f: f[0].mtime)]


def _records(found: Found, file: FileStat, format: str, told: list[str]) -> Iterator[tuple[list[Record], bool]]:
    """The records of the beginning, then (True) those of the end; of a file that is read whole all at once."""
    path, place = file.path, found.place
    if format == "wandb-online":
        from rltui.session.online_feed import read_end

        records, problem = read_end(place, path)
        told += [problem] if problem else []
        yield records, True
        return
    if format in DATABASES or format == "mlflow-files":
        if file.size > WHOLE_MOST:
            told.append(f"{format} of {file.size >> 20} MiB: not read")
            return
        feed = feed_for(path, format, place, file, dict(found.candidate.inside).get(path, ""))
        batch = feed.read()
        feed.close()
        if batch.error is not None:
            told.append(batch.error.text)
        yield batch.records, False
        return
    head = place.head(path, file.size if file.size <= WHOLE else BLOCK if format in BLOCKED else HEAD)
    if isinstance(head, SourceError):
        told.append(head.text)
        return
    name = path.rpartition("/")[2]
    reader = make(format, name)
    if len(head) < file.size and (reader.whole or packing(head) is not None):
        whole = place.read(path, WHOLE_MOST) if file.size <= WHOLE_MOST else b""
        if not whole or isinstance(whole, SourceError):
            told.append(f"{format} of {file.size >> 20} MiB cannot be read from its end: not read")
            return
        head = whole
    if len(head) >= file.size:
        reader = make_unpacking(format, name)
        yield _fed(reader, head), False
        yield reader.finish(), False
        return
    if format == "tensorboard":  # each end through a reader of its own: a record cut by the gap would take its length
        yield _fed(make(format), head), False
    follower, size = place.follow(path), _tail_bytes(format, file.size)
    while True:
        delta = follower.tail(size)
        if delta.error is not None:
            told.append(delta.error.text)
            break
        begin, tail = joint(format, head, delta.data, delta.offset)
        first, newest = _fed(reader, begin), _fed(reader, tail)
        if size >= LAST_TRY or any(isinstance(record, Rows) for record in newest):
            yield first, False
            yield newest, True
            break
        size, reader = size * 4, make(format, name)
    follower.close()


def _pace(table: Table, first: int) -> float | None:
    times = table.times[first:]
    known = times[np.isfinite(times)]
    return float(np.median(np.diff(known))) if len(known) > 1 else None


def _tail_bytes(format: str, size: int) -> int:
    if format not in BLOCKED:
        return TAIL
    last = size % BLOCK
    return last if last >= BLOCKED_LEAST else last + BLOCK


def _fed(reader: Reader, data: bytes) -> list[Record]:
    if isinstance(reader, ConsoleReader):
        reader.gives_lines = False
    return [record for record in reader.feed(data) if not isinstance(record, LogLine)]
