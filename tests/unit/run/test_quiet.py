"""A log without an end mark that stopped growing: held against the longest time from row to row that it ever had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.hardware.base import ProcessFact
from rltui.run.run import RunState
from tests.unit.reported import told
from tests.unit.rules.cases.liveness import DONE
from tests.unit.run.builder import rows, run_of, trl
from tests.unit.session.runs import opened

START = 1_760_000_000.0


def logged(path: Path, seconds: list[float], plan: int = 500) -> float:
    """A run with so many seconds from row to row; when its newest row was written."""
    now, lines = START, []
    for step, took in enumerate(seconds, 1):
        now += took
        lines.append(json.dumps({"step": step, "reward": 0.3 + 0.001 * (step % 7), "loss": 0.02, "timestamp": now}))
    path.mkdir()
    (path / "config.json").write_text(json.dumps({"max_steps": plan, "learning_rate": 1e-6}))
    (path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    return now


def state(path: Path, now: float) -> RunState:
    run = opened(path)
    found = run.run.state(now)
    run.close()
    return found


@pytest.mark.parametrize(("step_s", "still_s", "over_s"), [(0.8, 100.0, 190.0), (4.0, 200.0, 260.0)])
def test_short_steps_are_not_waited_for_ten_minutes(
    tmp_path: Path, step_s: float, still_s: float, over_s: float
) -> None:
    last = logged(tmp_path / "run", [step_s] * 70)
    assert state(tmp_path / "run", last + still_s).state == "running"
    assert state(tmp_path / "run", last + over_s).state == "stalled"


def test_a_stalled_run_has_no_time_left(tmp_path: Path) -> None:
    last = logged(tmp_path / "run", [1.0] * 70)
    going, page, report = told(tmp_path / "run", last + 10)[1], *told(tmp_path / "run", last + 200)[1:]
    assert "Time left" in going
    assert "Time left" not in page
    assert report["run"]["state"] == "stalled"


@pytest.mark.parametrize(
    "seconds",
    [[1.0] * 12, [1.0] * 24 + [45.0] + [1.0] * 45, [1.0, 2.0, 8.0, 1.0, 20.0] * 14],
    ids=["few rows", "an evaluation", "times that vary"],
)
def test_few_rows_and_times_that_vary_are_waited_for(tmp_path: Path, seconds: list[float]) -> None:
    last = logged(tmp_path / "run", seconds)
    assert state(tmp_path / "run", last + 500).state == "running"


def test_the_pause_before_a_resume_was_no_step(tmp_path: Path) -> None:
    """It took an hour until somebody resumed it: that is no time that a step may take."""
    path = tmp_path / "run"
    last = logged(path, [1.0] * 50)
    lines = [
        json.dumps({"step": step, "reward": 0.8 - 0.002 * step, "loss": 0.04, "timestamp": last + 3600 + step})
        for step in range(41, 81)
    ]
    with (path / "metrics.jsonl").open("a") as out:
        out.write("\n".join(lines) + "\n")
    assert state(path, last + 3600 + 80 + 100).state == "running"
    assert state(path, last + 3600 + 80 + 200).state == "stalled"


def test_ends_alone_never_say_otherwise(tmp_path: Path) -> None:
    from rltui.session.ends import ENDS
    from rltui.session.locate import locate
    from rltui.session.run_reader import RunReader

    last = logged(tmp_path / "run", [3.0] * 200 + [25.0] + [3.0] * 1800, plan=9000)
    reader = RunReader(locate([str(tmp_path / "run")])[0], extent=ENDS)
    reader.load()
    assert any(feed.gap for feed in reader.feeds)
    for silence in (60, 150, 300, 900, 1e5):
        whole, ends = state(tmp_path / "run", last + silence), reader.known(last + silence).state
        assert ends is None or ends.state == whole.state
    known = reader.known(last + 150).state
    assert known is not None
    assert known.state == "running"
    reader.close()


def test_a_process_that_went_before_its_plan_is_a_crash_to_be_mended(tmp_path: Path) -> None:
    from rltui.report.build import build

    last = logged(tmp_path / "run", [1.0] * 90)
    reader = opened(tmp_path / "run", follow=True)
    reader.run.pulse.processes = (ProcessFact(77, "python", "gone", None, "log"),)
    report = build(reader.with_insight(reader.frame(last + 5)))
    reader.close()
    assert report.run.state == "crashed"
    assert report.verdict.badge == "FIX · RERUN"
    assert [f.severity for f in report.findings if f.id == "run-crashed"] == ["critical"]


def test_one_that_went_after_its_plan_is_done() -> None:
    run = run_of(rows(trl(100), start=1000.0), {"max_steps": 100})
    run.followed = True
    run.pulse.processes = (ProcessFact(77, "python", "gone", None, "log"),)
    assert run.state(2010.0).state == DONE.state
