"""What the run tells somewhere is called not known nowhere, and what nobody can tell is not told as known."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.unit.report.test_facts_agree import base_row, run_json, run_markdown, write


def run_of(tmp_path: Path, rows: int, total: int, ended_ago_s: float = 0.0) -> Path:
    chance = random.Random(3)
    written = [base_row(i, rows, chance) | {"step_time": 10.0 + chance.random()} for i in range(rows)]
    return write(tmp_path / "run", written, total, time.time() - ended_ago_s)


def test_the_time_of_a_step_is_known_where_only_the_whole_step_is_timed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run_of(tmp_path, 60, 100)
    step_s = run_json(path, capsys)["phases"]["step_s"]
    assert step_s == pytest.approx(10.5, abs=0.5)
    assert f"A step takes {step_s:.1f} s (median)" in run_markdown(path, capsys)


def test_a_plan_that_the_run_has_passed_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = run_markdown(run_of(tmp_path, 60, 50), capsys)
    assert "Steps: 1 to 60, past the 50 that its config plans" in page
    assert "plan is not known" not in page


def test_a_plan_that_is_not_positive_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Steps: 1 to 60, planned steps not known" in run_markdown(run_of(tmp_path, 60, -1), capsys)


def test_nobody_is_sure_of_a_handful_of_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run_of(tmp_path, 6, 100)
    report = run_json(path, capsys)
    assert report["verdict"]["confidence"] == 0
    assert {stage["status"] for stage in report["pipeline"]} == {"unknown"}
    assert "confidence" not in run_markdown(path, capsys).split("## 3.")[0]


def test_a_run_that_may_have_stopped_is_not_told_when_it_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run_json(run_of(tmp_path, 60, 100, ended_ago_s=86400.0), capsys)
    assert (report["run"]["state"], report["run"]["eta_s"]) == ("stalled", None)
    assert not [one for one in report["outlook"]["forecasts"] if one["what"] == "end"]


def test_a_step_of_which_nothing_was_saved_is_no_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run_of(tmp_path, 60, 100)
    best = run_json(path, capsys)["verdict"]["best_checkpoint"]
    page = run_markdown(path, capsys)
    assert best["path"] is None
    assert f"- Keep: no saved checkpoint was found. The best step was {best['step']} (" in page
    assert f"- Best step: **step {best['step']}**" in page
