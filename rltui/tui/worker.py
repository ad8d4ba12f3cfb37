"""The thread that owns the session: frames come from there, reports are built there, the UI thread only draws."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from textual.message import Message

from rltui.tui import panes

if TYPE_CHECKING:
    from textual.app import App

    from rltui.report.model import Report
    from rltui.session import Frame

POLL_S = 1.0
"""How long a source may sleep before it looks whether the screen was closed."""


class FrameSource(Protocol):
    """A run that is open. One thread asks for frames; `close` may come from another."""

    def next_frame(self, timeout_s: float) -> Frame | None:
        """Waits for news, at most `timeout_s` seconds. None: nothing new."""

    def close(self) -> None:
        """Ends a waiting `next_frame` soon."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A run that can be opened. `modified` in seconds since the epoch, None where unknown."""

    name: str
    path: str
    format: str
    modified: float | None
    bytes: int


class Opener(Protocol):
    """Finds runs and opens one. Used by the worker thread only."""

    def find(self) -> Sequence[Choice]:
        """What can be opened, newest first. Raises an exception whose text is for the user where there is nothing."""

    def open(self, index: int) -> FrameSource:
        """Opens one of what `find` gave."""


class FrameArrived(Message):
    """The one message from data to screen. A newer one takes the place of one that waits."""

    def __init__(self, frame: Frame, report: Report) -> None:
        super().__init__()
        self.frame = frame
        self.report = report

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, FrameArrived)


class RunsFound(Message):
    """More than one run: the user chooses."""

    def __init__(self, choices: tuple[Choice, ...]) -> None:
        super().__init__()
        self.choices = choices


class SourceFailed(Message):
    """The run could not be opened (`opened` false) or read on: one sentence that says why and what to do."""

    def __init__(self, text: str, opened: bool) -> None:
        super().__init__()
        self.text = text
        self.opened = opened


class SnapshotWritten(Message):
    """Where the Markdown snapshot lies, or why there is none."""

    def __init__(self, path: str, error: str = "") -> None:
        super().__init__()
        self.path = path
        self.error = error


class Worker:
    """Finds, opens and follows a run in a daemon thread, until `stop`."""

    def __init__(self, app: App[None], opener: Opener) -> None:
        self.app = app
        self.opener = opener
        self._stop = Event()
        self._source: FrameSource | None = None

    def find(self) -> None:
        """Looks for runs; a single one is opened at once."""
        self._thread(self._find)

    def open(self, index: int) -> None:
        self._thread(lambda: self._open(index))

    def snapshot(self, frame: Frame, report: Report) -> None:
        """Writes the Markdown report of what is shown."""
        self._thread(lambda: self._write(frame, report))

    def stop(self) -> None:
        """Asks the threads to end; does not wait for them, so that quitting is never slow."""
        self._stop.set()
        if self._source is not None:
            self._source.close()

    def _thread(self, work: Callable[[], None]) -> None:
        Thread(target=work, name="rltui-session", daemon=True).start()

    def _post(self, message: Message) -> None:
        if not self._stop.is_set():
            self.app.post_message(message)

    def _find(self) -> None:
        panes.load()
        try:
            choices = tuple(self.opener.find())
        except Exception as error:
            self._post(SourceFailed(f"{error}" or type(error).__name__, opened=False))
            return
        if len(choices) == 1:
            self._open(0)
        else:
            self._post(RunsFound(choices))

    def _open(self, index: int) -> None:
        try:
            self._source = source = self.opener.open(index)
        except Exception as error:
            self._post(SourceFailed(f"{error}" or type(error).__name__, opened=False))
            return
        from rltui.report.build import build  # numpy: after the first paint
        from rltui.report.summaries import SummaryCache

        cache = SummaryCache()
        try:
            while not self._stop.is_set():
                frame = source.next_frame(POLL_S)
                if frame is not None:
                    now = frame.now if frame.live else None
                    self._post(FrameArrived(frame, build(frame, now=now, cache=cache)))
        except Exception as error:
            self._post(SourceFailed(f"reading stopped: {type(error).__name__}: {error}", opened=True))
        finally:
            source.close()

    def _write(self, frame: Frame, report: Report) -> None:
        from rltui.report.markdown import render
        from rltui.report.snapshot import write_snapshot

        try:
            path = write_snapshot(render(report, frame), report.run.path, os.getcwd(), state_dir(os.environ))
            self._post(SnapshotWritten(path))
        except (OSError, ValueError) as error:
            self._post(SnapshotWritten("", f"no snapshot: {error}"))


def state_dir(environ: Mapping[str, str]) -> str:
    """The user's state directory of rltui, by the XDG rules."""
    base = environ.get("XDG_STATE_HOME", "")
    return os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.local/state"), "rltui")
