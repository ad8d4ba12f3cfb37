"""The trainer's processes are those that write its log; stopped, gone and other people's readers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rltui.hardware.processes import CPU_WINDOW_S, LOOK_EVERY_S, SEARCH_EVERY_S, ProcessWatch
from tests.unit.trainer import lines_of, trainer, wait_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


class Clock:
    """Moves on by a look each time, so that none is left out."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += LOOK_EVERY_S
        return self.now


def states(watch: ProcessWatch, clock: Clock) -> dict[int, str]:
    return {fact.pid: fact.state for fact in watch.look(clock())}


def test_a_writer_is_found_stopped_continued_and_gone(tmp_path: Path) -> None:
    log, clock = tmp_path / "metrics.jsonl", Clock()
    with trainer(log) as child:
        wait_for(lambda: lines_of(log) > 3)
        watch = ProcessWatch([str(log)], str(tmp_path))
        (fact,) = watch.look(clock())
        assert (fact.pid, fact.how, fact.cpu) == (child.pid, "log", None)
        child.send_signal(signal.SIGSTOP)
        wait_for(lambda: states(watch, clock) == {child.pid: "stopped"})
        child.send_signal(signal.SIGCONT)
        wait_for(lambda: states(watch, clock)[child.pid] in ("sleeping", "running"))
        child.kill()
        wait_for(lambda: states(watch, clock) == {child.pid: "zombie"})
        child.wait()
        wait_for(lambda: states(watch, clock) == {child.pid: "gone"})
        with trainer(log) as other:
            clock.now += SEARCH_EVERY_S
            wait_for(lambda: list(states(watch, clock)) == [other.pid])


def test_cpu_that_moves(tmp_path: Path) -> None:
    log, clock = tmp_path / "metrics.jsonl", Clock()
    with trainer(log, busy_after=3):
        wait_for(lambda: lines_of(log) == 3)
        watch = ProcessWatch([str(log)], str(tmp_path))
        watch.look(clock())

        def used() -> float | None:
            clock.now += CPU_WINDOW_S
            return watch.look(clock())[0].cpu

        wait_for(lambda: (used() or 0.0) > 0.0)


def test_who_only_reads_the_log_is_no_trainer(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text("{}\n")
    reader = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; f = open(sys.argv[1]); print('open', flush=True); sys.stdin.read()",
            log.name,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        start_new_session=True,
    )
    try:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"open\n"
        found = ProcessWatch([str(log)], str(tmp_path)).look()
        assert {fact.how for fact in found} <= {"directory"}
    finally:
        reader.communicate(b"")


def test_a_pipe_to_tee_leads_to_the_trainer(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    code = "import time\nwhile True:\n    print('step', flush=True)\n    time.sleep(0.05)"
    shell = subprocess.Popen(
        ["sh", "-c", f'"{sys.executable}" -c "$1" | tee "$2" > /dev/null', "sh", code, str(log)], start_new_session=True
    )
    try:
        wait_for(lambda: lines_of(log) > 2)
        facts = ProcessWatch([str(log)], str(tmp_path)).look()
        assert [f.name.startswith("python") for f in facts] == [True]
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def test_nobody_writes_there(tmp_path: Path) -> None:
    assert ProcessWatch([str(tmp_path / "absent.log")], str(tmp_path)).look() == ()
