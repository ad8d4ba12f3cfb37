"""Adds the records of all feeds to the run: rows under keys that all containers share, notes, config and log."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterable
from math import inf, nextafter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rltui.discovery.file_roles import evaluates
from rltui.evidence.guard import error_text
from rltui.frameworks.resolve import bare_key
from rltui.prose import joined
from rltui.readers.base import (
    NO_STEP,
    ConfigRecord,
    Counted,
    Exit,
    Foretold,
    HardwareRow,
    Hint,
    LogLine,
    Note,
    Record,
    Rows,
    RunInfo,
    TakenBack,
    Treated,
    Ungraded,
)
from rltui.readers.row_kinds import as_evaluation
from rltui.run.run import Run
from rltui.session.choice import told
from rltui.session.feed import Batch

if TYPE_CHECKING:
    from rltui.run.source_info import SourceInfo
    from rltui.session.container_feeds import AnyFeed

LOG_LINES = 2000
UNPLACED = "rows without a step, whose values match no row with a step"


class Intake:
    """`feeds` is the caller's list; a caller that changes it must call `feeds_changed`. `log`: the newest lines of the
    run's consoles. `repeated`: notes that another source had already given."""

    def __init__(self, run: Run, feeds: list[AnyFeed]) -> None:
        self.log: deque[LogLine] = deque(maxlen=LOG_LINES)
        self.repeated: set[Note] = set()
        self.is_news = False  # the first read is over, so new records were written just now
        self._run = run
        self._feeds = feeds
        self._bare: dict[str, str] = {}
        self._told: dict[tuple[str, str], Counter[str]] = {}  # (kind, text) of a note -> how often each source gave it
        self._failed: dict[str, str] = {}  # path -> what last went wrong with it
        self._broken: dict[str, str] = {}  # path -> the error that its reader raised
        self._lost: dict[str, str] = {}  # path -> why it cannot be read
        self.feeds_changed()

    def feeds_changed(self) -> None:
        """Decides again which feed gives the log lines and which files hold evaluations."""
        self._has_console = any(f.format.endswith("console") for f in self._feeds)
        found = {f.path for f in self._feeds if not f.format.startswith("wandb") and evaluates(f.path)}
        self._evaluations = found if len(found) < len(self._feeds) else set()

    def read(self, feed: AnyFeed, most: int = 1 << 20) -> tuple[Batch, bool]:
        """Reads at most `most` bytes of a file. Returns the batch and whether it changes anything that is shown. If a
        reader raises, its file is no longer read; the others continue."""
        if feed.path in self._broken:
            return Batch([], 0, False), False
        try:
            batch = feed.read(most)
            return batch, self.take(feed, batch)
        except Exception as error:
            self._break(feed, error)
            return Batch([], 0, False), True

    def finish(self, feed: AnyFeed) -> None:
        """Takes the records that the reader of an ended file still holds back."""
        if feed.path in self._broken:
            return
        try:
            self.records(feed, feed.finish())
        except Exception as error:
            self._break(feed, error)

    def rest(self, feed: AnyFeed) -> bool:
        """Takes the rows that the reader of a quiet file holds back. True if that changes anything."""
        if feed.path in self._broken:
            return False
        try:
            held = feed.rest()
            self.records(feed, held)
            return bool(held)
        except Exception as error:
            self._break(feed, error)
            return True

    def told(self, feed: AnyFeed) -> SourceInfo:
        """What has been read from a file so far, what does not count, and why reading stopped."""
        found, why = told(feed), self._broken.get(feed.path)
        unplaced = self._run.history.unplaced.get(feed.part.name, 0)
        if unplaced:
            found = replace(found, skipped=found.skipped | {UNPLACED: unplaced})
        for reason, (rows, place) in feed.part.left_out.items():
            found = replace(
                found, skipped=found.skipped | {reason: rows}, skipped_at=found.skipped_at | {reason: place}
            )
        against = [one.text for one in self._run.history.contradictions if one.left == feed.part.name]
        ahead = self._run.history.ahead.get(feed.part.name, 0)
        if ahead:
            against.append(
                f"{abs(ahead)} steps {'ahead of' if ahead > 0 else 'behind'} the other files: read as theirs"
            )
        if against:
            found = replace(found, note=joined([*against, found.note]))
        if why is None:
            return found
        note = joined((f"no longer read, as its reader failed: {why}", found.note))
        return replace(found, used=found.used and found.rows > 0, note=note, broken=why)

    def _break(self, feed: AnyFeed, error: Exception) -> None:
        self._broken[feed.path] = self._lost[feed.path] = error_text(error)
        pulse = self._run.pulse
        pulse.unread, pulse.blind = tuple(self._lost.values()), len(self._lost) == len(self._feeds)

    def take(self, feed: AnyFeed, batch: Batch) -> bool:
        """Takes the records of a batch. True if they change anything that is shown."""
        failed = batch.error.text if batch.error is not None else ""
        changed = bool(batch.records) or batch.restarted or failed != self._failed.get(feed.path, "")
        if failed:
            feed.note = failed
        elif feed.note == self._failed.get(feed.path):
            feed.note = ""
        self._failed[feed.path] = failed
        self._lost.pop(feed.path, None)
        if batch.error is not None and batch.error.kind != "dropped":
            self._lost[feed.path] = failed.replace(feed.path, os.path.basename(feed.path))
        feed.part.written = feed.mtime
        pulse = self._run.pulse
        pulse.unread, pulse.blind = tuple(self._lost.values()), len(self._lost) == len(self._feeds)
        if batch.restarted:
            feed.restarting = True
        if batch.again and any(isinstance(one, Rows) and NO_STEP in one.steps for one in batch.records):
            feed.part.table.keep(0)  # they are counted again from the first row
            feed.part.table.counted = 0
            self._run.history.rebuild()
        self.records(feed, batch.records)
        return changed

    def records(self, feed: AnyFeed, records: Iterable[Record]) -> None:
        run = self._run
        for record in records:
            if isinstance(record, Rows):
                self._rows(feed, record)
            elif isinstance(record, Hint):
                feed.hint = record.text
            elif isinstance(record, Counted):
                feed.part.counts = record.on
                feed.part.table.place(record.steps)
                run.history.rebuild()
            elif isinstance(record, LogLine):
                if feed.format.endswith("console") or not self._has_console:
                    self.log.append(record)
                    if self.is_news:
                        run.pulse.line(record.text)
            elif isinstance(record, Note):
                feed.part.resumes |= record.kind == "resume" and record.after is None and not feed.part.table.n
                run.add_note(record, feed.path)
                self._note(record, feed.path)
            elif isinstance(record, Ungraded):
                run.add_ungraded(record, feed.path)
            elif isinstance(record, ConfigRecord):
                run.add_config(record.values, f"{record.origin} in {os.path.basename(feed.path)}")
                run.prints.add(record, feed.path)
            elif isinstance(record, RunInfo):
                run.add_info(record)
            elif isinstance(record, Exit):
                run.exit = record
            elif isinstance(record, HardwareRow):
                run.recorded_hardware.append(record)
            elif isinstance(record, Foretold):
                feed.part.mark()
            elif isinstance(record, TakenBack):
                feed.part.go_back()
                if run.framework is not None:
                    feed.part.table.rename(self._name)
                run.history.rebuild()
            elif isinstance(record, Treated):
                feed.remarks[record.text] += record.rows

    def identify(self) -> None:
        """Identifies framework and names after new records, and finds from the rows which file of the run began
        first."""
        run, feeds = self._run, self._feeds
        before = run.framework
        run.detect()
        if run.framework != before:
            self._bare.clear()
            for feed in feeds:
                feed.part.table.rename(self._name)
            run.history.rebuild()
        run.identify()
        order = [feed.part.name for feed in sorted(feeds, key=lambda f: f.part.rank)]
        for feed in feeds:
            start = feed.part.table.times[0] if feed.part.table.n else feed.mtime
            feed.part.rank = (feed.part.rank[0], float(start) if start == start else feed.mtime)
        latest = -inf
        for feed in sorted(feeds, key=lambda f: f.part.attempt):
            if feed.part.attempt:  # a copy of a log may be older than the log before it
                latest = max(feed.part.rank[1], nextafter(latest, inf))
                feed.part.rank = (feed.part.rank[0], latest)
        if order != [feed.part.name for feed in sorted(feeds, key=lambda f: f.part.rank)]:
            run.history.rebuild()
        run.refresh_names()
        run.as_of = run.newest_time()

    def _note(self, note: Note, path: str) -> None:
        """Marks a note that another source of the run has already given: a console log and W&B's copy of it hold the
        same lines."""
        told = self._told.setdefault((note.kind, note.text), Counter())
        told[path] += 1
        if told[path] <= max((count for other, count in told.items() if other != path), default=0):
            self.repeated.add(note)

    def _rows(self, feed: AnyFeed, rows: Rows) -> None:
        if not len(rows):
            return
        if feed.path in self._evaluations:
            rows.values = as_evaluation(rows.values, "eval")
            rows.nonfinite = as_evaluation(rows.nonfinite, "eval")
        if self._run.framework is not None:
            known = self._bare
            rows.values = {known[k] if k in known else self._name(k): v for k, v in rows.values.items()}
            rows.nonfinite = {self._name(k): v for k, v in rows.nonfinite.items()}
        if feed.restarting:
            feed.restarting = False
            first = next((s for s in rows.steps if s != NO_STEP), None)
            if feed.reader.whole:
                feed.part.table.keep(0)
            elif first is not None:
                feed.part.table.restart_at(first)
            self._run.history.rebuild()
        feed.part.laps = max(feed.part.laps, rows.laps)
        feed.part.unplaced = max(feed.part.unplaced, rows.unplaced)
        self._run.history.add(feed.part, rows)

    def _name(self, raw: str) -> str:
        bare = self._bare.get(raw)
        if bare is None:
            bare = self._bare[raw] = bare_key(raw, self._run.framework)
        return bare
