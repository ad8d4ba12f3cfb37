"""`train.py | rltui -` on a real terminal: data from the pipe, keys from the terminal, which is left in order."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator

import pyte
import pytest

ROWS, COLUMNS = 40, 140
PATIENCE_S = 180.0
RUN = "import sys; from rltui.cli import main; sys.exit(main(sys.argv[1:]))"


class Terminal:
    """A program on a pseudo-terminal of its own, with a pipe as standard input."""

    def __init__(self, *words: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, *words],
            stdin=subprocess.PIPE,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(1, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "NO_COLOR": "1"},
        )
        self.slave = slave
        assert self.process.stdin is not None
        self.pipe = self.process.stdin

    def wait_for(self, condition: Callable[[str], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition("\n".join(self.screen.display)):
            if time.monotonic() > end:
                raise AssertionError(f"never came: {what}\n" + "\n".join(self.screen.display))
            if select.select([self.master], [], [], 0.2)[0]:
                self._stream.feed(os.read(self.master, 1 << 16))

    def exit_code(self) -> int:
        end = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self.master], [], [], 0.05)[0]:
                self._stream.feed(os.read(self.master, 1 << 16))
        return self.process.wait(1)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.pipe.close()
        os.close(self.slave)
        os.close(self.master)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal("-")
    yield made
    made.close()


def row(step: int) -> bytes:
    return f'{{"step": {step}, "reward": {step / 100}, "kl": 0.01, "loss": 0.5}}\n'.encode()


@pytest.mark.long
def test_data_from_the_pipe_keys_from_the_terminal(terminal: Terminal) -> None:
    terminal.pipe.write(b"".join(row(step) for step in range(1, 31)))
    terminal.pipe.flush()
    terminal.wait_for(lambda text: "reward" in text and "30" in text, "the first rows")
    terminal.pipe.write(b"".join(row(step) for step in range(31, 78)))
    terminal.pipe.flush()
    terminal.wait_for(lambda text: "77" in text, "rows that came later")
    os.write(terminal.master, b"q")
    assert terminal.exit_code() == 0
    assert termios.tcgetattr(terminal.slave)[3] == terminal.before[3]  # echo and line mode as they were


def test_the_trainer_ends_and_the_screen_stays(terminal: Terminal) -> None:
    terminal.pipe.write(b"".join(row(step) for step in range(1, 31)))
    terminal.pipe.close()
    terminal.wait_for(lambda text: "reward" in text, "the rows")
    os.write(terminal.master, b"q")
    assert terminal.exit_code() == 0


def test_an_open_pipe_is_waited_for_and_one_that_ended_empty_is_told(terminal: Terminal) -> None:
    terminal.wait_for(lambda text: "Waiting for a first line on standard input" in text, "that it waits")
    terminal.pipe.close()
    terminal.wait_for(lambda text: "standard input ended before the first line" in text, "why there is nothing to see")
    assert terminal.exit_code() == 2
