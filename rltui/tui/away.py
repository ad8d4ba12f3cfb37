"""While you were away: whether the user is there, and what rltui keeps about the run and reports on the return."""

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
"""For this long after a return, news from the absence may still arrive, for example after the machine slept."""


class Attention:
    """Whether the user looks: a key came within this many minutes, and the terminal is not known to be out of focus."""

    def __init__(self, minutes: Callable[[], float], clock: Callable[[], float] = time.monotonic) -> None:
        self._minutes = minutes
        self._clock = clock
        self._last = clock()
        self._blurred: float | None = None

    @property
    def there(self) -> bool:
        return self._blurred is None and self._clock() - self._last < 60 * self._minutes()

    def seen(self) -> bool:
        """Notes that a key was pressed or the focus came back. True if the user was away before."""
        now = self._clock()
        left = self._last if self._blurred is None else self._blurred
        was_away = now - left >= 60 * self._minutes()
        self._last, self._blurred = now, None
        return was_away

    def left(self) -> None:
        """Notes that the terminal lost the focus."""
        self._blurred = self._clock()


class Chronicle:
    """Keeps the record and the last look of one run. Only the worker's thread may call `take`, any thread the rest."""

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
        """The messages that a new report causes. The first report yields what happened since the last look."""
        if not report.recording.loading.done or not report.recording.live:
            return []
        first = not self._changes.seen.began
        events = self._changes.of(report)
        messages: list[Message] = []
        if events and not first:
            messages.append(Happened(events))
        if self._recorder is None:
            return messages
        with self._lock, contextlib.suppress(OSError):  # if the state directory cannot be written, there is no digest
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
        """Notes that the user is back and was not yet told what happened."""
        self._late_until = time.monotonic() + GRACE_S

    def digest(self) -> Digest | None:
        """What happened while the user was away, unless it was already reported. From now on the user looks."""
        with self._lock, contextlib.suppress(OSError):
            made = self._digest() if time.monotonic() < self._late_until else None
            if made is not None:
                self._late_until = 0.0
                self._looked()
            return made
        return None

    def close(self) -> None:
        """Saves the last look. It is quick, so it may be called when the app ends."""
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
