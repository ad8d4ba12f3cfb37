"""`rltui watch` as a process: exit codes, signals, --exec, --append and what it says of wrong usage."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.environment import ONE_THREAD
from rltui.events.changes import Event
from rltui.watch.hooks import Command
from tests.conftest import REPO
from tests.unit.trainer import lines_of, trainer, wait_for

CRASHED = REPO / "sample_runs" / "verl-grpo-crash"
HEALTHY = REPO / "sample_runs" / "trl-grpo-healthy"


def rltui(*words: str, limit_s: float = 180.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rltui", "watch", *words], capture_output=True, text=True, timeout=limit_s, check=False
    )


@pytest.mark.long
def test_runs_that_are_over_end_the_watch(capsys: pytest.CaptureFixture[str]) -> None:
    both = rltui(str(CRASHED), str(HEALTHY), "--format", "json")
    events = [json.loads(text) for text in both.stdout.splitlines()]
    assert [e["event"] for e in events].count("end") == 2
    crash = next(e for e in events if e.get("finding") == "run-crashed")
    assert (crash["event"], crash["severity"], crash["quote"]) == ("end", "critical", "KeyError: 'deh'")
    assert both.returncode == 1
    assert main(["watch", str(CRASHED), "--fail-on", "never"]) == 0
    capsys.readouterr()
    assert main(["watch", str(HEALTHY)]) == 0
    out, err = capsys.readouterr()
    assert "summary  finished: All clear" in out
    assert err == ""


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_with_what_was_seen(tmp_path: Path, number: signal.Signals) -> None:
    log = tmp_path / "metrics.jsonl"
    with trainer(log):
        wait_for(lambda: lines_of(log) > 20)
        words = [sys.executable, "-m", "rltui", "watch", str(log), "--format", "json"]
        watch = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert watch.stdout is not None
        assert json.loads(watch.stdout.readline())["event"] == "summary", "lines come as they are made"
        watch.send_signal(number)
        out, problems = watch.communicate(timeout=120)
        last = json.loads(out.splitlines()[-1])
        assert (last["event"], last["text"], last["code"]) == ("done", number.name, 0)
        assert (watch.returncode, problems) == (0, "")


@pytest.mark.long
def test_a_hang_up_that_is_ignored_ends_nothing(tmp_path: Path) -> None:
    """As under nohup."""
    log, out = tmp_path / "metrics.jsonl", tmp_path / "out"
    with trainer(log), out.open("wb") as file:
        wait_for(lambda: lines_of(log) > 20)
        words = [sys.executable, "-m", "rltui", "watch", str(log), "--format", "json", "--heartbeat", "0.1"]
        watch = subprocess.Popen(
            words, stdout=file, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN), stderr=subprocess.PIPE
        )
        wait_for(lambda: lines_of(out) > 1)
        watch.send_signal(signal.SIGHUP)
        told = lines_of(out)
        wait_for(lambda: lines_of(out) > told + 2)
        watch.terminate()
        watch.communicate(timeout=120)
    assert json.loads(out.read_text().splitlines()[-1])["text"] == "SIGTERM"


@pytest.mark.long
def test_exec_gets_each_event_and_no_shell(tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    script = tmp_path / "hook.py"
    script.write_text(
        "import json, os, sys\n"
        "event = json.load(sys.stdin)\n"
        "kept = json.dumps([sys.argv[1], os.environ['RLTUI_FINDING'], event['quote']])\n"
        f"assert os.environ.get({ONE_THREAD!r}) == {os.environ.get(ONE_THREAD)!r}, 'not our own'\n"
        f"open({str(kept)!r}, 'a').write(kept + '\\n')\n"
        "print('printed')\n"
    )
    done = rltui(str(CRASHED), "--exec", f"{sys.executable} {script} '$(touch {tmp_path}/shell)'")
    (kept_line,) = kept.read_text().splitlines()
    assert json.loads(kept_line) == [f"$(touch {tmp_path}/shell)", "run-crashed", "KeyError: 'deh'"]
    assert not (tmp_path / "shell").exists()
    assert "printed" in done.stderr
    assert "printed" not in done.stdout


EVENT = Event("opened", 0.0, "r", "/r", 5, None, "running", "continue-watch", "KL rose; `touch x`", "kl-runaway")


def test_a_command_that_fails_or_hangs_is_told() -> None:
    problems: list[str] = []
    fails = Command([sys.executable, "-c", "raise SystemExit(3)"], problems.append)
    fails.run(EVENT)
    fails.close()
    hangs = Command([sys.executable, "-c", "import time; time.sleep(60)"], problems.append, limit_s=0.2)
    hangs.run(EVENT)
    hangs.close()
    deaf = Command(["true"], problems.append)
    deaf.run(EVENT)
    deaf.close()
    assert ["exit code 3" in problems[0], "killed after" in problems[1], len(problems)] == [True, True, 2]


@pytest.mark.long
def test_append_writes_check_in_entries(tmp_path: Path) -> None:
    status = tmp_path / "STATUS.md"
    status.write_text("# notes\n")
    rltui(str(CRASHED), "--append", str(status))
    text = status.read_text()
    assert text.startswith("# notes\n## verl-grpo-crash: step 65/200")
    assert "Health: down, crashed" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["absent"], "no such file"),
        ([str(HEALTHY), "--exec", "no-such-program-here x"], "no such command"),
        ([str(HEALTHY), "--exec", "echo 'open"], "No closing quotation"),
        ([str(HEALTHY), "--append", "/"], "cannot be written"),
        ([str(HEALTHY), "--timeout", "0"], "above 0"),
        ([str(HEALTHY), "--until", "never"], "--until"),
        ([], "RUN"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["watch", *words]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert told.count("\n") == 1


def test_a_run_that_cannot_be_read_on_is_a_crash(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    from rltui.session.live import LiveRun

    def fails(*_: object) -> None:
        raise ValueError("a fault of our own")

    monkeypatch.setattr(LiveRun, "next_frame", fails)
    assert main(["watch", str(HEALTHY), "--format", "json"]) == 3
    out, told = capsys.readouterr()
    first, last = told.splitlines()
    assert first.startswith(
        "rltui: trl-grpo-healthy: reading stopped, by a fault of rltui: ValueError: a fault of our own"
    )
    assert "stopped by a fault of its own" in last
    done = json.loads(out)
    assert (done["event"], done["text"], done["code"]) == ("done", "no run can be read any longer", 3)
