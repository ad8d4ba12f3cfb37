"""What the screen writes (snapshots, pictures, copies, check-in entries, the user's marks), and how it alerts the user.
The worker does the writing."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rltui.tui.view import marked

if TYPE_CHECKING:
    from rltui.events.alerts import Gate
    from rltui.events.changes import Event
    from rltui.evidence.model import Finding
    from rltui.tui.shell import Shell

TOAST_S = 12.0


class Exports:
    """The commands of the app that write a file. Each shows a message that names the file."""

    def __init__(self, app: Shell) -> None:
        self.app = app

    def screen_text(self) -> str:
        """The screen as plain text, without the footer."""
        lines = ["".join(segment.text for segment in line) for line in self.app.painted()]
        return "\n".join(line.rstrip() for line in lines[:-1]).strip("\n")

    def snapshot(self) -> None:
        """Writes the report at the shown step as Markdown. If a drill-down or a past step is on the screen, its text
        comes first."""
        view, worker = self.app.view, self.app.worker
        if view.newest is None or view.report is None:  # no run is open: the list of runs
            text = f"```text\n{self.screen_text()}\n```\n"
            worker.write("snapshot", lambda: _new_file(text, self._run_path(), ".md"))
            return
        step, path = view.cursor, view.report.run.path
        shown = "" if self.app.at_top and step is None else f"```text\n{self.screen_text()}\n```\n\n"
        newest = view.newest

        def write() -> str:
            from rltui.report.markdown import render

            return _new_file(shown + render(worker.whole(newest, step)), path, ".md")

        self.app.say("writing the snapshot …")
        worker.write("snapshot", write)

    def comparison(self) -> None:
        """Writes the comparison as Markdown."""
        comparison, path = self.app.many.comparison, self._run_path()
        if comparison is None:
            self.app.say("nothing compared yet", "warn")
            return

        def write() -> str:
            from rltui.compare.markdown import render

            return _new_file(render(comparison), path, ".compare.md")

        self.app.worker.write("comparison", write)

    def picture(self) -> None:
        """Writes the screen as an SVG picture."""
        from rltui.tui.picture import svg

        text = svg(self.app.painted(), self.app.size.width, self.app.palette, f"rltui: {self.app.screen.name}")
        path = self._run_path()
        self.app.worker.write("picture", lambda: _new_file(text, path, ".svg"))

    def copy(self, text: str) -> None:
        """Copies to the terminal's clipboard by OSC 52, and also to a file, because OSC 52 has no acknowledgement."""
        path = self._run_path()
        self.app.copy_to_clipboard(text)
        self.app.worker.write("sent to the clipboard, and", lambda: _new_file(text + "\n", path, ".txt"))

    def shell_command(self, verb: str) -> None:
        """Copies and shows a shell command for what the screen cannot do."""
        where = f" {shlex.quote(self._run_path())}" if verb == "watch" else ""
        command = f"rltui {verb}{where}"
        self.app.copy_to_clipboard(command)
        self.app.say(f"in a shell (sent to the clipboard): {command}", "accent")

    def append(self, file: str) -> None:
        """Appends a check-in entry to a file of the user."""
        report = self.app.view.report
        if report is None:
            self.app.say("nothing read yet", "warn")
            return

        def write() -> str:
            from rltui.report.checkin import append_checkin

            append_checkin(file, report)
            return os.path.abspath(file)

        self.app.worker.write("check-in entry", write)

    def acknowledge(self, finding: Finding) -> None:
        """Marks a finding as seen, or removes the mark. The mark is kept for the next time."""
        if self.app.view.marks is None:
            return
        self.app.view.marks = self.app.view.marks.toggled(marked(finding))
        seen = self.app.view.acknowledged(finding)
        self.app.say(f"{finding.title}: acknowledged until it gets worse" if seen else f"{finding.title}: open again")
        self._save_marks()

    def pin(self, metric: str) -> None:
        """Pins a metric to the overview, or unpins it."""
        if self.app.view.marks is None:
            return
        self.app.view.marks = self.app.view.marks.with_pin(metric)
        on = metric in self.app.view.marks.pinned
        label = self.app.view.label(metric)
        self.app.say(f"{label} is pinned to the overview" if on else f"{label} is no longer pinned")
        self._save_marks()

    def read_marks(self) -> None:
        """Makes the worker read the user's marks for this run."""
        from rltui.settings import state_dir

        self.app.worker.marks(self._run_path(), state_dir(os.environ), self._place())

    def _save_marks(self) -> None:
        from rltui.report.user_marks import save_marks
        from rltui.settings import state_dir

        marks, path, folder, place = self.app.view.marks, self._run_path(), state_dir(os.environ), self._place()
        if marks is not None:
            self.app.worker.write("", lambda: save_marks(marks, path, folder, place))

    def _place(self) -> str:
        return self.app.view.recording.place if self.app.view.recording else ""

    def _run_path(self) -> str:
        return self.app.view.newest.run.path if self.app.view.newest else "rltui"


def _new_file(text: str, run_path: str, suffix: str) -> str:
    from rltui.settings import state_dir

    return write_snapshot(text, run_path, os.getcwd(), state_dir(os.environ), suffix=suffix)


MODE = 0o600


def write_snapshot(
    text: str,
    run_path: str,
    cwd: str,
    state_dir: str,
    *,
    now: datetime | None = None,
    name: str | None = None,
    suffix: str = ".md",
) -> str:
    """Writes a report, or other text that the user asked for, to a new file and returns its path.

    It goes to `cwd`, or, if that is inside the run's directory or cannot be written, to `<state_dir>/snapshots`. Its
    name contains the run and the UTC time. Only its owner can read it. It appears whole or not at all, and replaces
    nothing. Raises OSError if neither place can be written, ValueError if both lie inside the run.
    """
    stem = _stem(name or os.path.basename(os.path.normpath(run_path)), now or datetime.now(UTC))
    problem: OSError | None = None
    fallback = os.path.join(state_dir, "snapshots")
    for directory in (cwd, fallback):
        if _inside(directory, run_path):
            continue
        try:
            if directory == fallback:
                os.makedirs(directory, mode=0o700, exist_ok=True)
            return _write_new(directory, stem, suffix, text)
        except OSError as error:
            problem = error
    if problem is not None:
        raise problem
    raise ValueError(f"{state_dir} is inside the run's directory {run_path}, where nothing is written")


def _stem(run: str, now: datetime) -> str:
    safe = re.sub(r"[^\w.-]+", "-", run, flags=re.ASCII).strip("-.")[:80] or "run"
    return f"rltui-{safe}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _inside(directory: str, run_path: str) -> bool:
    """Whether a directory is the run's or lies in it. If the run is one file, its directory may be written."""
    run = os.path.realpath(run_path)
    if not os.path.isdir(run):
        return False
    here = os.path.realpath(directory)
    return here == run or here.startswith(run.rstrip(os.sep) + os.sep)


def _write_new(directory: str, stem: str, suffix: str, text: str) -> str:
    """Reserves a free name with an empty file, then moves the whole text there."""
    for count in range(1, 1000):
        path = os.path.join(directory, f"{stem}{suffix}" if count == 1 else f"{stem}-{count}{suffix}")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE))
        except FileExistsError:
            continue
        temporary = f"{path}.part"
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as out:
                out.write(text)
            os.replace(temporary, path)
        except OSError:
            for ours in (temporary, path):
                with contextlib.suppress(OSError):
                    os.unlink(ours)
            raise
        return path
    raise FileExistsError(f"{directory}: no free name for {stem}{suffix}")


class AlertSender:
    """Alerts the user to the events that the settings select."""

    def __init__(self, app: Shell) -> None:
        self._app = app
        self._gate: Gate | None = None
        self.on = True

    def toggle(self) -> None:
        """Switches alerts off until the user leaves, or on again."""
        self.on = not self.on
        self._app.say("alerts as your settings have them" if self.on else "no alerts until you leave")

    def tell(self, events: Iterable[Event]) -> None:
        from rltui import settings  # not at the top, because the screen can show without them
        from rltui.events.alerts import BELL, Gate, headline, notification

        self._gate = self._gate or Gate(settings.load().alerts)
        own = self._gate.own
        for event in events:
            if not self.on or not self._gate.lets(event, time.time()):
                continue
            text = headline(event)
            self._app.send(notification(text, own.notify, os.environ) + (BELL if own.bell else ""))
            if own.toast and self._app.glyphs.name == "ascii":  # the box has a border that ASCII cannot draw
                self._app.say(self._app.glyphs.translate(text), "warn", seconds=TOAST_S)
            elif own.toast:
                severity = {"critical": "error", "warning": "warning"}.get(event.severity or "", "information")
                self._app.toast(text, severity, TOAST_S)
