"""A fault of rltui itself: one line, exit code 3, and a file without secrets and without what was read."""

from __future__ import annotations

import json
import os
import pty
import select
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rltui.cli import main

TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz012345"[:30]
ALTERNATE_SCREEN_LEFT = b"\x1b[?1049l"
PATIENCE_S = 180.0


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "rltui"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(json.dumps({"step": n, "reward": 0.1 * n}) + "\n" for n in range(1, 30)))
    return log


def crash_file(state: Path, line: str) -> str:
    (path,) = state.glob("crash-*.txt")
    assert str(path) in line
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    return path.read_text()


def boom(*_: object, **__: object) -> None:
    local = "the-value-of-a-local-variable"
    raise KeyError(f"{TOKEN} {len(local)}")


def test_a_fault_is_one_line_a_redacted_file_and_exit_code_3(
    run: Path, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rltui.report.build.build", boom)
    assert main(["report", str(run)]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert line.startswith("rltui: ")
    assert TOKEN not in line
    text = crash_file(state, line)
    assert "KeyError" in text
    assert "print_reports" in text
    assert TOKEN not in text
    assert "the-value-of-a-local-variable" not in text.replace('local = "the-value-of-a-local-variable"', "")


def test_a_state_directory_that_others_could_read_is_closed_to_them(
    run: Path, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state.mkdir(parents=True, mode=0o755)
    monkeypatch.setattr("rltui.report.build.build", boom)
    assert main(["report", str(run)]) == 3
    crash_file(state, capsys.readouterr().err)


def test_a_fault_is_told_even_if_no_file_can_be_written(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "taken"))
    monkeypatch.setattr("rltui.report.build.build", boom)
    assert main(["report", str(run)]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "could not be written" in line


BREAK = """
import sys
from rltui.cli import main
import {module} as broken
def boom(*a, **k):
    secret = "the-value-of-a-local-variable"
    raise RuntimeError("a fault of ours")
broken.{name} = boom
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("module", "name", "shown"),
    [
        ("rltui.tui.app", "RltuiApp.redraw", b""),
        ("rltui.tui.worker", "Worker._find", b""),
        ("rltui.report.build", "_notes", b"this row is not shown"),
        ("rltui.session.live", "LiveRun.next_frame", b"reading stopped"),
    ],
    ids=["the screen's thread", "the reading thread", "a report", "the reading of a run"],
)
def test_a_screen_that_crashes_leaves_the_terminal_in_order(
    module: str, name: str, shown: bytes, run: Path, state: Path
) -> None:
    """`shown`: the screen goes on and says so, until `q` is typed."""
    master, slave = pty.openpty()
    code = BREAK.format(module=module, name=name)
    env = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(run)], stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
    )
    os.close(slave)
    seen, end = b"", time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    seen += os.read(master, 1 << 16)
                    if shown and shown in seen:
                        os.write(master, b"q")
                        shown = b""
                except OSError:  # the child has closed its end
                    break
            elif child.poll() is not None:
                break
        assert child.wait(PATIENCE_S) == 3
    finally:
        child.kill()
        os.close(master)
    after = seen.rsplit(ALTERNATE_SCREEN_LEFT, 1)[-1].decode()
    assert ALTERNATE_SCREEN_LEFT in seen
    told = [line for line in after.splitlines() if "rltui: " in line]
    assert len(told) == 1
    assert "a fault of ours" in told[0]
    assert b"the-value-of-a-local-variable" not in seen
    assert "boom" in crash_file(state, told[0])
