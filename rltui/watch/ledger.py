"""What a watch reported of one run, on disk. If the watch is killed, its next start neither repeats nor misses events.

Before events are reported, they are saved, with the sizes of the files that they go to. Afterwards it is saved that
they were reported. If only the first was done, the sizes show which file has the events. If there is no file (a pipe, a
terminal), they are reported again, marked `again`. Commands and posts stay saved until they are done. Those that were
not done are done again, also marked.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time as clock
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock as Mutex
from typing import Any

from msgspec.structs import replace

from rltui.events.changes import Event, SeenSoFar
from rltui.events.store import Lock, read_json, write_json

SAVE_EVERY_S = 30.0
MOST_PENDING = 1000

Mark = list[int]
"""Device, inode and size of a regular file."""


def mark(file: int | str) -> Mark | None:
    """The mark of a file; None if it is not a regular file."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return [found.st_dev, found.st_ino, found.st_size] if stat.S_ISREG(found.st_mode) else None


def has_grown(before: object, now: Mark | None) -> bool | None:
    """Whether a file was written to since `before`; None if that is not known."""
    if not isinstance(before, list) or now is None or before[:2] != now[:2]:
        return None
    return bool(now[2] > before[2])


class Ledger:
    """The file of one watch on one run. `path` None: nothing is saved. Several threads may call it."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._lock = Lock(f"{path}.lock") if path is not None else None
        self._mutex = Mutex()
        self._saved = 0.0
        self._seen: dict[str, Any] = {}
        self._telling: dict[str, Any] | None = None
        self._pending: dict[str, list[dict[str, Any]]] = {}
        self.problem = ""

    def open(self, fresh: bool = False) -> bool:
        """Reads the file, unless `fresh`. False if another watch of the same kind has it open."""
        if self._path is None or self._lock is None:
            return True
        if not self._lock.take():
            self._path = None
            return False
        kept = (None if fresh else read_json(self._path)) or {}
        seen, telling, pending = kept.get("seen"), kept.get("telling"), kept.get("pending")
        self._seen = seen if isinstance(seen, dict) else {}
        self._telling = telling if isinstance(telling, dict) else None
        for channel, events in pending.items() if isinstance(pending, dict) else ():
            self._pending[channel] = list(events) if isinstance(events, list) else []
        return True

    def seen(self) -> SeenSoFar | None:
        """What was reported before; None if nothing was."""
        with contextlib.suppress(KeyError, TypeError, ValueError):
            return SeenSoFar.of_dict(self._seen)
        return None

    def interrupted(self) -> tuple[list[Event], str, Mapping[str, Any]] | None:
        """Events, check-in entry and file marks of a `begin` without `end`; None if there is none."""
        if self._telling is None:
            return None
        marks = self._telling.get("marks")
        return (
            _events(self._telling.get("events")),
            str(self._telling.get("entry", "")),
            marks if isinstance(marks, dict) else {},
        )

    def pending(self, channel: str) -> list[Event]:
        """Events for which a command or post is not done yet."""
        return _events(self._pending.get(channel))

    def begin(
        self,
        seen: dict[str, Any],
        events: Sequence[Event],
        entry: str,
        marks: dict[str, Any],
        to: Mapping[str, Iterable[Event]],
    ) -> None:
        """Saves events that are about to be reported. `to`: by channel, those for a command or post."""
        with self._mutex:
            self._seen = seen
            self._telling = {"events": [event.as_dict() for event in events], "entry": entry, "marks": marks}
            for channel, more in to.items():
                kept = self._pending.setdefault(channel, [])
                kept += [event.as_dict() for event in more]
                del kept[:-MOST_PENDING]
            self._save()

    def end(self) -> None:
        """Saves that they were reported."""
        with self._mutex:
            self._telling = None
            self._save()

    def done(self, channel: str, event: Event) -> None:
        """Saves that a command or post has ended."""
        with self._mutex:
            kept = self._pending.get(channel, [])
            left = [one for one in kept if (one.get("seq"), one.get("path")) != (event.seq, event.path)]
            if len(left) != len(kept):
                self._pending[channel] = left
                self._save()

    def stands(self, seen: dict[str, Any]) -> None:
        """Notes how far the run is if nothing happened. This is saved only from time to time."""
        with self._mutex:
            self._seen = seen
            if clock.monotonic() - self._saved > SAVE_EVERY_S:
                self._save()

    def close(self) -> None:
        """Saves how far the watch came, for its next start."""
        with self._mutex:
            if self._path is not None and self._seen:
                self._save()
            self._path = None
            if self._lock is not None:
                self._lock.leave()

    def _save(self) -> None:
        self._saved = clock.monotonic()
        if self._path is None:
            return
        try:
            write_json(self._path, {"seen": self._seen, "telling": self._telling, "pending": self._pending})
            self.problem = ""
        except OSError as error:
            self.problem = (
                f"{self._path}: cannot be written ({error.strerror}). If the watch is killed, events may be told again"
            )


def again(event: Event) -> Event:
    """The same event, marked as one that may have been reported before."""
    return replace(event, again=True)


def _events(kept: object) -> list[Event]:
    """Events from their saved form. Damaged ones are left out."""
    out = []
    for values in kept if isinstance(kept, list) else ():
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            out.append(Event.of_dict(values))
    return out
