"""Rows whose steps nothing tells: counted, said to be counted, and never mixed with rows that state theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main
from tests.unit.position.reports import bar, report_of, reward, trl
from tests.unit.session.runs import content, opened, wait_for

LOGGED = range(2, 121, 2)


def metrics(steps: range) -> str:
    return "".join(json.dumps({"step": s, "reward": reward(s), "kl": 0.01 * s}) + "\n" for s in steps)


def test_rows_are_counted_if_the_bar_only_shows_its_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.log").write_text(bar(0) + "\n" + "".join(map(trl, LOGGED)))
    report = report_of(tmp_path / "train.log", capsys)
    assert report["run"]["steps"] == {"first": 1, "last": 60, "total": 260, "rows": 60}
    assert report["run"]["rows_counted"]
    assert any("steps not known, rows counted" in text for text in report["unknowns"])
    assert main(["report", str(tmp_path / "train.log"), "--long"]) == 0
    assert "Steps: not logged, 60 rows counted" in capsys.readouterr().out


def test_the_end_of_the_bar_tells_the_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.log").write_text(bar(0) + "\n" + "".join(map(trl, range(2, 261, 2))) + bar(260) + "\n")
    report = report_of(tmp_path / "train.log", capsys)
    assert report["run"]["steps"] == {"first": 2, "last": 260, "total": 260, "rows": 130}
    assert not report["run"]["rows_counted"]


def test_a_bar_that_fits_several_distances_tells_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.log").write_text(bar(0, 11) + "\n" + trl(4) + trl(8) + bar(11, 11) + "\n")
    assert report_of(tmp_path / "train.log", capsys)["run"]["rows_counted"]


@pytest.mark.parametrize("kind", ["lines of TRL", "rows of JSON"])
def test_rows_without_steps_take_those_of_the_same_values(kind: str, tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(metrics(LOGGED))
    if kind == "lines of TRL":
        (tmp_path / "train.log").write_text(bar(0) + "\n" + "".join(map(trl, LOGGED)))
    else:
        rows = [{"reward": reward(s), "loss": round(0.9 / s, 5)} for s in LOGGED]
        (tmp_path / "scalars.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = content(opened(tmp_path))
    assert list(found) == list(LOGGED)
    for step, cells in found.items():
        assert cells["reward"] == pytest.approx(reward(step))
        assert cells["loss"] == pytest.approx(0.9 / step, abs=1e-5), "what only the other file holds"


def test_rows_behind_the_last_that_is_stated_go_on_at_the_same_distance(tmp_path: Path) -> None:
    """W&B writes late: what it lost when the run was killed stands in the console."""
    (tmp_path / "metrics.jsonl").write_text(metrics(range(2, 101, 2)))
    (tmp_path / "train.log").write_text(bar(0) + "\n" + "".join(map(trl, LOGGED)))
    found = content(opened(tmp_path))
    assert {step: cells["reward"] for step, cells in found.items()} == {s: pytest.approx(reward(s)) for s in LOGGED}


def test_rows_that_fit_no_stated_one_are_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "metrics.jsonl").write_text(metrics(LOGGED))
    (tmp_path / "train.log").write_text(bar(0) + "\n" + "".join(trl(s + 700) for s in LOGGED))
    report = report_of(tmp_path, capsys)
    assert report["run"]["steps"]["rows"] == 60
    by_name = {Path(s["path"]).name: s for s in report["run"]["sources"]}
    assert by_name["train.log"]["skipped"] == 60
    assert "without a step" in by_name["train.log"]["note"]
    found = content(opened(tmp_path))
    assert all(cells["reward"] == pytest.approx(reward(step)) for step, cells in found.items())


def test_live_rows_that_were_counted_get_their_steps_when_the_bar_tells(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(bar(0) + "\n" + "".join(map(trl, range(5, 101, 5))))
    run = opened(log, follow=True)
    wait_for(run, lambda: len(content(run)) == 20)
    assert run.frame().run.counted
    with log.open("a") as out:
        out.write("".join(map(trl, range(105, 261, 5))) + bar(260) + "\n")
    wait_for(run, lambda: list(content(run)) == list(range(5, 261, 5)))
    assert content(run)[100]["reward"] == pytest.approx(reward(100))
    assert not run.frame().run.counted
    assert run.run.history.table.restarts == []


def test_an_error_behind_counted_rows_is_dated_by_the_order_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The console counts to 60 where the run stands at step 120: the error is none of an earlier attempt."""
    (tmp_path / "metrics.jsonl").write_text(metrics(LOGGED))
    error = 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: malformed row\n'
    (tmp_path / "train.log").write_text(bar(0) + "\n" + "".join(map(trl, LOGGED)) + error)
    assert report_of(tmp_path, capsys)["run"]["state"] == "crashed"


@pytest.mark.parametrize("beside", ["rows that state theirs", "a bar in another file"])
def test_the_report_at_a_step_ends_there(beside: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is left of the others would place counted rows elsewhere."""
    rows = "".join(map(trl, LOGGED))
    if beside == "rows that state theirs":
        (tmp_path / "metrics.jsonl").write_text(metrics(LOGGED))
        (tmp_path / "train.log").write_text(bar(0) + "\n" + rows)
    else:
        (tmp_path / "job-1.out").write_text(rows)
        (tmp_path / "job-1.err").write_text(bar(0, 120) + "\r" + bar(120, 120) + "\n")
    for at in (40, 57, 119):
        steps = report_of(tmp_path, capsys, "--at", str(at))["run"]["steps"]
        assert (steps["last"], steps["rows"]) == (at - at % 2, at // 2)
