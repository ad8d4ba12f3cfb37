"""A program in a pseudo-terminal of 160x45: when a text first shows, and how much memory it took."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import sys
import time
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

_ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b.")
BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("bare-app")
Bare().run()
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """Seconds until the text showed, None where it never did; peak memory then and after it came to rest, in MB."""

    seconds: float | None
    peak_mb: float


def environment() -> dict[str, str]:
    """As a user's: modules are compiled once."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def bare() -> list[str]:
    return [sys.executable, "-c", BARE]


def rltui(path: Path) -> list[str]:
    return [sys.executable, "-m", "rltui", str(path)]


def show(command: list[str], text: bytes, rest: bool = False, patience_s: float = 120.0) -> Shown:
    """Runs `command` until `text` (a regular expression) shows; with `rest` until it has used no CPU for a while."""
    start = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        screen = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": "160", "LINES": "45"}
        os.execvpe(command[0], command, environment() | screen)
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
    seen, seconds = b"", None
    try:
        while time.monotonic() - start < patience_s and seconds is None:
            if select.select([terminal], [], [], 0.2)[0]:
                seen += os.read(terminal, 1 << 16)
                if re.search(text, _ESCAPES.sub(b"", seen)):
                    seconds = time.monotonic() - start
        if rest:
            _until_idle(pid, terminal, start + patience_s)
        return Shown(seconds, _peak_mb(pid))
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def _until_idle(pid: int, terminal: int, until: float) -> None:
    quiet, before = 0, -1
    while quiet < 4 and time.monotonic() < until:
        window = time.monotonic() + 0.5
        while (left := window - time.monotonic()) > 0:
            if select.select([terminal], [], [], left)[0]:
                os.read(terminal, 1 << 16)
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        quiet = quiet + 1 if ticks - before <= 3 else 0
        before = ticks


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
