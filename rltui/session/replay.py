"""A run played again: frames as they stood after each row, with nothing of what came later."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from threading import Event, Lock
from typing import TypeVar

from rltui.discovery.found import Found
from rltui.session.frame import Frame
from rltui.session.run_reader import RunReader

FRAMES_PER_S = 8.0
"""More frames than this a second nobody can follow; a faster replay leaves rows out."""

T = TypeVar("T")


class Replay:
    """Plays `speed` rows a second on the caller's thread. Thread-safe are `close`, `pause` and `ask`."""

    def __init__(self, found: Found, *, key_map: dict[str, str] | None = None, speed: float) -> None:
        self.opened = RunReader(found, key_map=key_map)
        self.speed = speed
        self._row = 0.0
        self._at = 0.0
        self._ended = False
        self._paused = Event()
        self._closed = Event()
        self._still = Lock()

    def ask(self, question: Callable[[RunReader], T]) -> T:
        """As `LiveRun.ask`."""
        with self._still:
            return question(self.opened)

    def pause(self, on: bool) -> None:
        """Stands still, or goes on where it stood."""
        if on:
            self._paused.set()
        else:
            self._paused.clear()

    def next_frame(self, timeout_s: float) -> Frame | None:
        """The frame that is due; None where none is within the time (paused, at the end)."""
        if not self.opened.loading().done:
            with self._still:
                self.opened.load()
        now = clock.monotonic()
        if self._ended or self._paused.is_set():
            self._closed.wait(timeout_s)
            self._at = clock.monotonic()
            return None
        due = self._at + max(1.0 / self.speed, 1.0 / FRAMES_PER_S)
        if now < due and self._closed.wait(due - now):
            return None
        now = clock.monotonic()
        self._row += max(1.0, (now - self._at) * self.speed) if self._at else 1.0
        self._at = now
        with self._still:
            steps = self.opened.run.history.table.steps
            if int(self._row) >= len(steps):
                self._ended = True
                return self.opened.frame()
            return self.opened.past_frame(int(steps[int(self._row) - 1]))

    def close(self) -> None:
        """Ends a running `next_frame` soon; safe from another thread."""
        self._closed.set()
        self.opened.cancelled = True
