"""Alerts on the screen: the bytes that a terminal gets, what is silent, and that one setting switches all off."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte
import pytest

from rltui import settings
from tests.unit.watch.test_replay import dip

RUN = "import sys; from rltui.cli import main; sys.exit(main(sys.argv[1:]))"
PATIENCE_S = 180.0


def row(step: int) -> str:
    return json.dumps({"step": step, "kl": 0.02, "entropy": 1.0, "loss": 0.1, **dip(step)}) + "\n"


class Screen:
    """rltui on a pseudo-terminal; `got` is every byte that it sent."""

    def __init__(self, run: Path, state: Path, config: str = "", **environ: str) -> None:
        home = state.parent / "config"
        (home / "rltui").mkdir(parents=True, exist_ok=True)
        (home / "rltui" / "config.toml").write_text(config)
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
        clean = {k: v for k, v in os.environ.items() if k not in ("TMUX", "STY", "VTE_VERSION", "SSH_CONNECTION")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(run)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(1, termios.TIOCSCTTY, 0),
            env={
                **clean,
                "TERM": "xterm-256color",
                "LANG": "C.UTF-8",
                "XDG_CONFIG_HOME": str(home),
                "XDG_STATE_HOME": str(state),
                **environ,
            },
        )
        os.close(slave)
        self.got = b""
        self._screen = pyte.Screen(140, 40)
        self._stream = pyte.ByteStream(self._screen)

    def read(self, limit_s: float) -> None:
        if select.select([self.master], [], [], limit_s)[0]:
            new = os.read(self.master, 1 << 16)
            self.got += new
            self._stream.feed(new)

    def shown(self) -> str:
        """What stands on the screen, spaces and line breaks as one space: boxes wrap their text."""
        return " ".join(" ".join(self._screen.display).replace("\u258c", " ").split())

    def wait_for(self, *wanted: bytes) -> None:
        """Until these were sent."""
        self._wait(lambda: all(part in self.got for part in wanted), wanted)

    def wait_to_see(self, *wanted: str) -> None:
        self._wait(lambda: all(part in self.shown() for part in wanted), wanted)

    def _wait(self, condition: Callable[[], bool], what: object) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end, f"never came: {what}\n" + "\n".join(self._screen.display)
            self.read(0.2)

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            end = time.monotonic() + PATIENCE_S
            while self.process.poll() is None and time.monotonic() < end:
                with contextlib.suppress(OSError):
                    self.read(0.05)
            self.process.wait(5)
        os.close(self.master)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Path]:
    settings._load.cache_clear()
    log = tmp_path / "run" / "metrics.jsonl"
    log.parent.mkdir()
    log.write_text("".join(map(row, range(1, 90))))
    yield log
    settings._load.cache_clear()


def grow(log: Path, first: int, last: int) -> None:
    with log.open("a") as file:
        file.write("".join(map(row, range(first, last))))


def opened(log: Path, config: str = "", **environ: str) -> Screen:
    screen = Screen(log.parent, log.parent.parent / "state", config, **environ)
    screen.wait_to_see("CONTINUE", "step 89")
    return screen


def test_a_critical_finding_rings_and_notifies_once(run: Path) -> None:
    screen = opened(run)
    assert b"\x1b]9;" not in screen.got, "what is open when the screen opens calls nobody"
    grow(run, 90, 112)
    screen.wait_for(b"\x1b]9;rltui: run, step 111: critical opened: reward-collapse.")
    screen.wait_to_see("run, step 111: critical opened: reward-collapse.")
    grow(run, 112, 118)
    screen.wait_to_see("step 117")
    screen.close()
    assert screen.got.count(b"]9;rltui: run, step") == 1
    assert b"down to its floor.\a\a" in screen.got, "the end of the notification, and the bell"


def test_through_tmux_it_is_wrapped(run: Path) -> None:
    screen = opened(run, TMUX="/tmp/tmux-0/default,1,0")
    grow(run, 90, 112)
    screen.wait_for(b"\x1bPtmux;\x1b\x1b]9;rltui: run, step 111: critical", b"\a\x1b\\\a")
    screen.close()


@pytest.mark.parametrize(
    "config", ["[alerts]\nenabled = false\n", '[alerts]\nquiet = "00:00-23:59"\n[screen]\ntheme = "light"\n']
)
def test_silent(run: Path, config: str) -> None:
    if "quiet" in config and time.strftime("%H:%M") == "23:59":
        pytest.skip("the one loud minute of the day")
    screen = opened(run, config)
    grow(run, 90, 112)
    screen.wait_to_see("Reward collapsed", "step 111")
    screen.close()
    assert b"\x1b]9;" not in screen.got
    assert b"\a" not in screen.got.replace(b"\x1b]22;default\a", b"")
    assert "critical opened" not in screen.shown()


def test_single_ones_are_switched_off_by_themselves(run: Path) -> None:
    screen = opened(run, "[alerts]\nbell = false\ntoast = false\nnotify = 'osc777'\n")
    grow(run, 90, 112)
    screen.wait_for(b"\x1b]777;notify;rltui;run, step 111: critical opened: reward-collapse.")
    screen.close()
    assert b"\a\a" not in screen.got
    assert "critical opened" not in screen.shown()


@pytest.mark.long
def test_while_you_were_away(run: Path) -> None:
    screen = opened(run)
    screen.close()
    grow(run, 90, 160)
    again = Screen(run.parent, run.parent.parent / "state")
    again.wait_to_see("70 steps to 159, ", "resolved", "d: all of it")
    again.type(b"d")
    again.wait_to_see("While you were away", "critical opened at step 100: Reward collapsed, now resolved")
    again.close()


@pytest.mark.long
def test_one_setting_and_there_is_no_record_and_no_digest(run: Path) -> None:
    screen = opened(run, "[away]\nenabled = false\n")
    screen.close()
    grow(run, 90, 112)
    again = Screen(run.parent, run.parent.parent / "state", "[away]\nenabled = false\n")
    again.wait_to_see("Reward collapsed")
    assert "all of it" not in again.shown()
    again.close()
    assert not list((run.parent.parent / "state").rglob("*.json*"))
