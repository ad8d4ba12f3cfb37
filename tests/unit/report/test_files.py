"""What the report writes: snapshots and check-in entries."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rltui.report.answer import QUESTIONS
from rltui.report.build import build
from rltui.report.checkin import append_checkin, entry
from rltui.report.user_marks import Marks, load_marks, save_marks
from rltui.run.run import RunState
from rltui.tui.exports import write_snapshot
from tests.unit.report import fakes

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


def test_a_snapshot_is_private_whole_and_named_after_the_run(tmp_path: Path) -> None:
    run, cwd, state = (tmp_path / name for name in ("run a", "cwd", "state"))
    run.mkdir()
    cwd.mkdir()
    path = Path(write_snapshot("# é\n", str(run), str(cwd), str(state), now=NOW))
    assert path == cwd / "rltui-run-a-20261121T093000Z.md"
    assert path.read_text(encoding="utf-8") == "# é\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(cwd) == [path.name]
    assert not state.exists()


def test_a_second_snapshot_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    paths = {write_snapshot(f"{i}", str(tmp_path / "run"), str(tmp_path), "", now=NOW) for i in range(3)}
    assert sorted(Path(p).read_text() for p in paths) == ["0", "1", "2"]


@pytest.mark.parametrize("below", ["", "wandb/files"])
def test_nothing_is_written_inside_the_run(tmp_path: Path, below: str) -> None:
    run, state = tmp_path / "run", tmp_path / "state"
    (run / below).mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(run)
    path = write_snapshot("x", str(link), str(run / below), str(state), now=NOW)
    assert Path(path).parent == state / "snapshots"
    assert [p for p in run.rglob("*") if p.is_file()] == []
    with pytest.raises(ValueError, match="inside the run's directory"):
        write_snapshot("x", str(run), str(run), str(run / "state"), now=NOW)


def test_a_run_that_is_one_file_leaves_its_directory_free(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("")
    path = write_snapshot("x", str(log), str(tmp_path), "", now=NOW)
    assert Path(path).parent == tmp_path


def test_a_place_that_cannot_be_written_falls_back_and_then_says_so(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    path = write_snapshot("x", "run", str(gone), str(tmp_path / "state"), now=NOW)
    assert Path(path).parent == tmp_path / "state" / "snapshots"
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(OSError, match="file"):
        write_snapshot("x", "run", str(gone), str(blocked), now=NOW)


def test_check_ins_are_appended(tmp_path: Path) -> None:
    status = tmp_path / "STATUS.md"
    status.write_text("mine\n")
    report = build(fakes.sick_frame())
    append_checkin(str(status), report)
    append_checkin(str(status), report)
    assert status.read_text(encoding="utf-8") == "mine\n" + entry(report) * 2


def test_a_check_in_has_the_answer_and_its_five_lines() -> None:
    lines = entry(build(fakes.sick_frame())).splitlines()
    assert lines[0].startswith("## grpo-math: step 60/200, 2026-11-20T")
    later = entry(build(fakes.sick_frame()), "2026-11-22T08:00:00+00:00").splitlines()
    assert later[0].startswith("## grpo-math: step 60/200, 2026-11-22T08:00:00+00:00, newest row of 2026-11-20T")
    assert later[1:] == lines[1:]
    assert [line.split(":")[0] for line in lines[2:] if line] == [
        "- Health",
        *(f"- {word}" for word in QUESTIONS.values()),
        "- Progress",
        "- Stability",
        "- Performance",
        "- Notes",
    ]
    assert "degraded, running" in lines[2]
    told = {line[2:].split(":")[0]: line for line in lines[2:]}
    assert "kl ref 0.012 → " in told["Stability"]
    assert "val score math" in told["Progress"]
    assert "warning: " in told["Notes"] or "critical: " in told["Notes"]
    assert "Raise the KL penalty (beta)." in told["To do"], "the action, if something is open"


@pytest.mark.parametrize(
    ("decision", "state", "health"),
    [
        ("continue", "running", "healthy"),
        ("continue-watch", "running", "degraded"),
        ("abort-now", "running", "down"),
        ("continue", "crashed", "down"),
        ("not-enough-evidence", "running", "unknown"),
    ],
)
def test_health_in_one_word(decision: str, state: str, health: str) -> None:
    run = fakes.FakeRun()
    run.fake_state = RunState(state, "")  # type: ignore[arg-type]
    report = build(fakes.frame(run=run, result=fakes.diagnosis(verdict=fakes.verdict(decision=decision))))
    assert f"- Health: {health}, {state}." in entry(report)


def test_runs_of_one_path_on_two_machines_have_marks_of_their_own(tmp_path: Path) -> None:
    state, run = str(tmp_path / "state"), "/data/run"
    before = Marks(frozenset({("kl-runaway", "", "critical")}))
    save_marks(before, run, state)  # as all were kept once
    assert load_marks(run, state, "me@node17") == before, "what was kept by the path alone is still read"
    here, there = Marks(pinned=("entropy",)), Marks(pinned=("reward_mean",))
    save_marks(here, run, state, "me@node17")
    save_marks(there, run, state, "me@node18")
    assert load_marks(run, state, "me@node17") == here
    assert load_marks(run, state, "me@node18") == there
    assert load_marks(run, state) == before
