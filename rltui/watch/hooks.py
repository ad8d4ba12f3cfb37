"""The user's own hooks for events: a command that is run on each, and an address that each is posted to.

Each hook has its own thread and queue, so that reading never waits for a slow command or network. A command is run
without a shell, with the event as JSON on its standard input and in RLTUI_*; what it prints goes to standard error. A
post is JSON: `{"text": a line for people, and below it why, what to do and what to keep, "event": the event as --format
json prints it}`. Chat services that take a `text` (Slack, Mattermost) show these lines.
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
from threading import Event as Flag
from threading import Thread
from urllib.parse import urlsplit

from rltui import environment
from rltui.events.changes import Event, in_lines

COMMAND_LIMIT_S = 60.0
"""A command that runs longer is killed, and its children too."""
WAITING = 1000
"""At most this many events wait for a hook. More are left out, with a message."""
POST_LIMIT_S = 10.0
PAUSES_S = (1.0, 5.0, 25.0)
"""A post that fails is tried again after these pauses."""
CLOSE_S = 15.0
"""At the end, most seconds to wait for posts that are not sent yet."""
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
    """Runs the command for events, one after the other, in its own thread. `tell` gets errors. `done` gets each event
    whose command has ended, however it ended."""

    def __init__(
        self,
        words: list[str],
        tell: Callable[[str], None],
        done: Callable[[Event], None] = lambda _: None,
        limit_s: float = COMMAND_LIMIT_S,
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
        """Waits until the command was run for all queued events. Each has its own time limit."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (event := self._queue.get()) is not None:
            self._run(event)
            self._done(event)

    def _run(self, event: Event) -> None:
        values = event.as_dict()
        variables = {f"RLTUI_{n.upper()}": "" if values.get(n) is None else str(values[n]) for n in VARIABLES}
        what = f"--exec {self._words[0]} on {event.kind} {event.finding or ''}".rstrip()
        try:
            process = subprocess.Popen(
                self._words,
                stdin=subprocess.PIPE,
                stdout=sys.stderr.fileno(),
                env={**environment.of_user(), **variables},
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


def checked_address(url: str) -> str:
    """The address, if it can be used. Raises ValueError with a text for the user that does not show it."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(c.isspace() or not c.isprintable() for c in url):
        raise ValueError("webhook: needs an address, as in webhook:https://host/path")
    return url


def shown_address(url: str) -> str:
    """The address without its secret parts: path and query of a webhook are its password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}/…"


class Webhook:
    """Posts events one after the other. `tell` gets errors. `done` gets each event that was sent or failed."""

    def __init__(
        self,
        url: str,
        tell: Callable[[str], None],
        done: Callable[[Event], None],
        limit_s: float = POST_LIMIT_S,
        pauses_s: tuple[float, ...] = PAUSES_S,
    ) -> None:
        self._url = url
        self._tell = tell
        self._done = done
        self._limit_s = limit_s
        self._pauses_s = pauses_s
        self._queue: queue.Queue[Event | None] = queue.Queue(WAITING)
        self._stopped = Flag()
        self._under_way: tuple[Event, str] | None = None  # the event that is being sent, and why it failed so far
        self._thread = Thread(target=self._work, name="rltui-webhook", daemon=True)
        self._thread.start()

    def send(self, event: Event) -> None:
        """Queues the event."""
        try:
            self._queue.put_nowait(event)
        except queue.Full:
            self._tell(
                f"webhook {shown_address(self._url)}: {WAITING} events wait, "
                f"left out: {event.kind} {event.finding or ''}"
            )

    def close(self, wait_s: float = CLOSE_S) -> None:
        """Waits at most `wait_s` for the queued events, then reports those that are not sent."""
        try:
            self._queue.put_nowait(None)
        except queue.Full:
            self._stopped.set()
        self._thread.join(wait_s)
        self._stopped.set()
        if self._under_way is not None:
            event, problem = self._under_way
            self._tell_unsent(event, problem or "no answer yet", self._queue.qsize() - 1)  # the last one is None

    def _work(self) -> None:
        while not self._stopped.is_set() and (event := self._queue.get()) is not None:
            self._under_way = event, ""
            for pause_s in (*self._pauses_s, None):
                problem = self._post(event)
                if not problem:
                    self._done(event)
                    break
                self._under_way = event, problem
                if pause_s is None:
                    self._tell_unsent(event, problem)
                    self._done(event)
                elif self._stopped.wait(pause_s):
                    return
            self._under_way = None

    def _tell_unsent(self, event: Event, problem: str, more: int = 0) -> None:
        also = f" and {more} more" if more > 0 else ""
        what = f"{event.kind} {event.finding or ''}".rstrip()
        self._tell(f"webhook {shown_address(self._url)}: {problem}. Not sent: {what}{also}")

    def _post(self, event: Event) -> str:
        """What went wrong, or "". Redirects are not followed, because the address is a secret."""
        import http.client
        import urllib.error
        import urllib.request

        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_: object) -> None:
                return None

        body = json.dumps({"text": in_lines(event), "event": event.as_dict()}, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "rltui"}
        try:
            request = urllib.request.Request(self._url, body, headers, method="POST")
            with urllib.request.build_opener(Stay).open(request, timeout=self._limit_s):
                return ""
        except urllib.error.HTTPError as error:
            return f"HTTP {error.code}"
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            return str(getattr(reason, "strerror", None) or type(reason).__name__)
