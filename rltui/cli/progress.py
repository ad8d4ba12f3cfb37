"""What a terminal is told while a command works: one line on stderr, which is gone once that is over."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType

PATIENCE_S = 1.0
"""Seconds that may pass in silence."""
BETWEEN_S = 0.1


class Progress:
    """Says nothing if stderr is no terminal."""

    def __init__(self) -> None:
        self._is_seen = sys.stderr.isatty()
        self._next = time.monotonic() + PATIENCE_S
        self._files = 0
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown:
            self._print("")

    def say(self, text: str) -> None:
        """Shows a line in the place of the one before."""
        if self._is_seen:
            self._shown = True
            self._print(text)

    def looked(self, path: str) -> None:
        """One more file is looked at."""
        self._files += 1
        now = time.monotonic()
        if self._is_seen and now >= self._next:
            from rltui.prose import counted
            from rltui.text import clean

            self._next = now + BETWEEN_S
            self.say(f"looking for runs, {counted(self._files, 'file')} so far: {clean(os.path.basename(path), 50)}")

    def _print(self, text: str) -> None:
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
