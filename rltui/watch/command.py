"""The user's own command, run on each event: no shell, the event as JSON on its standard input and in RLTUI_*.

Events wait in a queue, so that a slow command holds up no reading. What the command prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from threading import Thread

from rltui.events.changes import Event

LIMIT_S = 60.0
"""A command that runs longer is killed, its children with it."""
WAITING = 1000
VARIABLES = (
    "event",
    "run",
    "path",
    "step",
    "total",
    "state",
    "decision",
    "finding",
    "subject",
    "severity",
    "text",
    "seq",
    "again",
)


class Command:
    """Runs the command for events, one after the other, in a thread of its own. `tell` gets what goes wrong, `done`
    each event whose command came to its end, whatever that was."""

    def __init__(
        self,
        words: list[str],
        tell: Callable[[str], None],
        done: Callable[[Event], None] = lambda _: None,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._words = words
        self._tell = tell
        self._done = done
        self._limit_s = limit_s
        self._queue: queue.Queue[Event | None] = queue.Queue(WAITING)
        self._thread = Thread(target=self._work, name="rltui-exec", daemon=True)
        self._thread.start()

    @staticmethod
    def words(text: str) -> list[str]:
        """The command's words, as a shell would split them. Raises ValueError with a text for the user."""
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise ValueError(f"{text}: {error}") from None
        if not words or shutil.which(words[0]) is None:
            raise ValueError(f"{text}: no such command")
        return words

    def run(self, event: Event) -> None:
        """Queues the command for this event."""
        try:
            self._queue.put_nowait(event)
        except queue.Full:
            self._tell(f"--exec: {WAITING} events wait for the command, left out: {event.kind} {event.finding or ''}")

    def close(self) -> None:
        """Waits until all queued events are dealt with; each command has its own time limit."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (event := self._queue.get()) is not None:
            self._run(event)
            self._done(event)

    def _run(self, event: Event) -> None:
        values = event.as_dict()
        shown = {f"RLTUI_{n.upper()}": "" if values.get(n) is None else str(values[n]) for n in VARIABLES}
        what = f"--exec {self._words[0]} on {event.kind} {event.finding or ''}".rstrip()
        try:
            process = subprocess.Popen(
                self._words,
                stdin=subprocess.PIPE,
                stdout=sys.stderr.fileno(),
                env={**os.environ, **shown},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._tell(f"{what}: {error}")
            return
        try:
            process.communicate(json.dumps(values, ensure_ascii=False).encode() + b"\n", self._limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            self._tell(f"{what}: killed after {self._limit_s:.0f} s")
            return
        if process.returncode:
            self._tell(f"{what}: exit code {process.returncode}")
