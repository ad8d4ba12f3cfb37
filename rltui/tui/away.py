"""While you were away: when the user is there, and what is kept and told of the run in between."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

from rltui.tui.messages import DigestMade, Happened

if TYPE_CHECKING:
    from textual.message import Message

    from rltui.discovery.found import Found
    from rltui.events.changes import Changes
    from rltui.events.digest import Digest
    from rltui.events.record import Recorder
    from rltui.report.model import Report

SAVE_LOOK_EVERY_S = 30.0
GRACE_S = 10.0
"""So long after a return the news of the absence may still be under way, as after a machine slept."""


class Attention:
    """Whether somebody looks: a key within so many minutes, and the terminal in focus, where it tells."""

    def __init__(self, minutes: Callable[[], float], clock: Callable[[], float] = time.monotonic) -> None:
        self._minutes = minutes
        self._clock = clock
        self._last = clock()
        self._blurred: float | None = None

    @property
    def there(self) -> bool:
        return self._blurred is None and self._clock() - self._last < 60 * self._minutes()

    def seen(self) -> bool:
        """A key was pressed or the focus came back; true where that is a return."""
        now = self._clock()
        left = self._last if self._blurred is None else self._blurred
        was_away = now - left >= 60 * self._minutes()
        self._last, self._blurred = now, None
        return was_away

    def left(self) -> None:
        """The terminal lost the focus."""
        self._blurred = self._clock()


class Chronicle:
    """Keeps the record and the last look of one run; `take` belongs to the worker's thread, the rest to any."""

    def __init__(self, found: Found, there: Callable[[], bool]) -> None:
        from rltui import settings
        from rltui.events.changes import Changes
        from rltui.events.record import EventRecord, Recorder
        from rltui.events.store import forget_old, run_identity

        state_dir = settings.state_dir(os.environ)
        run = run_identity(found, state_dir)
        self._there = there
        self._changes: Changes = Changes()
        self._lock = Lock()
        self._report: Report | None = None
        self._look: dict[str, Any] | None = None
        self._saved = self._late_until = 0.0
        self._recorder: Recorder | None = None
        if run is not None and settings.load().away.enabled:
            forget_old(state_dir, time.time())
            self._recorder = Recorder(EventRecord(state_dir, run))

    def take(self, report: Report) -> list[Message]:
        """What there is to tell about a new report: with the first one what happened since the last look."""
        if not report.recording.loading.done or not report.recording.live:
            return []
        first = not self._changes.seen.began
        events = self._changes.of(report)
        messages: list[Message] = []
        if events and not first:
            messages.append(Happened(events))
        if self._recorder is None:
            return messages
        with self._lock, contextlib.suppress(OSError):  # a state directory that cannot be written: no digest
            self._recorder.take(report)
            self._report = report
            if first:
                self._look = self._recorder.record.look()
                messages.append(DigestMade(self._digest()))
            elif time.monotonic() < self._late_until and (made := self._digest()) is not None:
                self._late_until = 0.0
                messages.append(DigestMade(made))
            if first or (self._there() and time.monotonic() >= self._late_until):
                self._looked()
        return messages

    def returned(self) -> None:
        """Somebody is back, and has not been told yet what happened."""
        self._late_until = time.monotonic() + GRACE_S

    def digest(self) -> Digest | None:
        """What happened while somebody was away, where he has not been told; from then on somebody looks."""
        with self._lock, contextlib.suppress(OSError):
            made = self._digest() if time.monotonic() < self._late_until else None
            if made is not None:
                self._late_until = 0.0
                self._looked()
            return made
        return None

    def close(self) -> None:
        """Keeps the last look. Quick: it may be called on the way out."""
        with self._lock, contextlib.suppress(OSError):
            if self._recorder is not None and self._look is not None and self._report is not None:
                self._recorder.record.save_look(self._look)
            if self._recorder is not None:
                self._recorder.close()
            self._recorder = None

    def _digest(self) -> Digest | None:
        from rltui.events.digest import digest

        if self._recorder is None or self._report is None or self._look is None:
            return None
        return digest(self._report, self._look, self._recorder.record.journal.read())

    def _looked(self) -> None:
        from rltui.events.digest import look_of

        if self._recorder is None or self._report is None:
            return
        self._look = look_of(self._report, self._recorder.record.last_seq())
        if time.monotonic() - self._saved > SAVE_LOOK_EVERY_S:
            self._saved = time.monotonic()
            self._recorder.record.save_look(self._look)
