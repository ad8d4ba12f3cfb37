"""A command with a slip of the pen, and terminals that can hold no screen."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from rltui.cli import main
from tests.conftest import REPO


@pytest.mark.parametrize(("word", "meant"), [("repport", "report"), ("docter", "doctor"), ("comparre", "compare")])
def test_a_slip_in_a_command_names_the_command(word: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word, "x"]) == 2
    told = capsys.readouterr().err
    assert f"did you mean rltui {meant}?" in told
    assert told.count("\n") == 1


def test_a_file_that_is_no_command_is_only_not_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nosuchfile.jsonl"]) == 2
    assert "did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("term", "size", "why"),
    [
        ("dumb", (40, 120), "cannot move its cursor"),
        ("xterm-256color", (10, 40), "40x10 cells and the screen needs 60x20"),
    ],
)
def test_without_room_for_a_screen_comes_the_report(term: str, size: tuple[int, int], why: str) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    env = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    done = subprocess.Popen(
        [sys.executable, "-m", "rltui", str(REPO / "sample_runs" / "trl-grpo-healthy")],
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.PIPE,
        env={**env, "TERM": term},
    )
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 1 << 16):
            shown += piece
    except OSError:  # the program has ended
        pass
    finally:
        os.close(master)
    _, errors = done.communicate()
    assert done.returncode == 0
    assert why in errors.decode()
    assert b"# trl-grpo-healthy" in shown
    assert b"\x1b[?1049h" not in shown
