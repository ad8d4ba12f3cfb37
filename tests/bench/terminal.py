"""A program in a pseudo-terminal of 160x45: when a text first shows, what it costs until it comes to rest."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b.")
BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    BINDINGS = [("j", "more"), ("q", "quit")]
    n = 0
    def compose(self):
        yield Static("bare-app 0")
    def action_more(self):
        self.n += 1
        self.query_one(Static).update(f"bare-app {self.n}")
Bare().run()
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """Seconds until the text showed, infinite if it never did; CPU seconds and peak memory in MB until then, or until
    it came to rest, of the program and those that it started."""

    seconds: float
    cpu_s: float
    peak_mb: float


def environment() -> dict[str, str]:
    """As a user's: modules are compiled once."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def bare() -> list[str]:
    return [sys.executable, "-c", BARE]


def rltui(path: Path) -> list[str]:
    return [sys.executable, "-m", "rltui", str(path)]


def spawn(command: list[str]) -> tuple[int, int]:
    """Process and terminal of a program, which leads a session of its own."""
    pid, terminal = pty.fork()
    if pid == 0:
        screen = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": "160", "LINES": "45"}
        os.execvpe(command[0], command, environment() | screen)
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
    return pid, terminal


def end(pid: int, terminal: int) -> None:
    """Ends a program and all of its session."""
    for one in [*tree(pid)[1:], pid]:
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            continue
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
    os.close(terminal)


def tree(pid: int) -> list[int]:
    """A process and its descendants."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def cpu_s(pid: int) -> float:
    """CPU seconds of a process, its descendants, and those of them that it waited for."""
    return sum(sum(map(int, fields[11:15])) for one in tree(pid) if (fields := _stat(one))) * TICK_S


def peak_mb(pid: int) -> float:
    """Peak resident memory of a process and its descendants, each at its own time."""
    total = 0.0
    for one in tree(pid):
        try:
            status = Path(f"/proc/{one}/status").read_text()
        except OSError:
            continue
        total += int(status.partition("VmHWM:")[2].split()[0]) / 1024 if "VmHWM:" in status else 0.0
    return total


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def show(command: list[str], text: bytes, rest: bool = False, patience_s: float = 120.0) -> Shown:
    """Runs `command` until `text` (a regular expression) shows; with `rest` until it has used no CPU for a while."""
    start = time.monotonic()
    pid, terminal = spawn(command)
    seen, seconds = b"", float("inf")
    try:
        while time.monotonic() - start < patience_s and seconds == float("inf"):
            if select.select([terminal], [], [], 0.2)[0]:
                seen = seen[-(1 << 18) :] + os.read(terminal, 1 << 16)
                if re.search(text, _ESCAPES.sub(b"", seen)):
                    seconds = time.monotonic() - start
        if rest:
            _until_idle(pid, terminal, start + patience_s)
        return Shown(seconds, cpu_s(pid), peak_mb(pid))
    except OSError:  # it ended
        return Shown(float("inf"), float("inf"), float("inf"))
    finally:
        end(pid, terminal)


def _until_idle(pid: int, terminal: int, until: float) -> None:
    quiet, before = 0, -1.0
    while quiet < 4 and time.monotonic() < until:
        window = time.monotonic() + 0.5
        while (left := window - time.monotonic()) > 0:
            if select.select([terminal], [], [], left)[0]:
                os.read(terminal, 1 << 16)
        spent = cpu_s(pid)
        quiet = quiet + 1 if spent - before <= 0.03 else 0
        before = spent
