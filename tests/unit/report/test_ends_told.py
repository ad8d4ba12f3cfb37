"""What the report says of how a run ended, by logs whose errors no list has a name for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main

RANKS = 4
FRAMES = (
    "Traceback (most recent call last):",
    '  File "/opt/train/main.py", line 88, in step',
    "    out = self.model(batch)",
    '  File "/opt/train/model.py", line 12, in forward',
    "    raise ValueError(text)",
)
ERROR = "ValueError: shape of the batch"


def rows(steps: int) -> str:
    return "".join(
        json.dumps({"step": n, "reward": 0.2 + 0.005 * n + 0.02 * (n * 7 % 5), "kl": 0.001 * n, "entropy": 1.0}) + "\n"
        for n in range(1, steps + 1)
    )


def console(steps: int) -> str:
    return "".join(f"step:{n} - critic/score/mean:{0.2 + 0.01 * n:.3f} - actor/kl_loss:0.01\n" for n in range(1, steps))


def led(lead: str, *lines: str) -> str:
    return "".join(f"{lead}{line}\n" for line in lines)


def reported(run: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["report", str(run), "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def ended_by(report: dict[str, Any], error: str) -> bool:
    return report["run"]["state"] == "crashed" and f"“{error}”" in report["answer"]["what"]


@pytest.mark.parametrize(
    ("log", "name"),
    [
        ("stderr.log", "an error stream of nothing but a traceback"),
        ("logs/stderr.log", "in a folder that sorts"),
        ("run.err", "called like a job's"),
    ],
)
def test_a_traceback_beside_metrics_is_how_the_run_ended(
    log: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "metrics.jsonl").write_text(rows(60))
    (tmp_path / log).parent.mkdir(exist_ok=True)
    (tmp_path / log).write_text(led("", *FRAMES, ERROR))
    assert ended_by(reported(tmp_path, capsys), ERROR), name


def test_a_traceback_in_the_error_stream_of_a_console_is_how_the_run_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.log").write_text(console(60))
    (tmp_path / "train.err").write_text("model.py:3: UserWarning: slow path\n" + led("", *FRAMES, ERROR))
    assert ended_by(reported(tmp_path, capsys), ERROR)


def test_a_traceback_behind_pages_of_chatter_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "metrics.jsonl").write_text(rows(60))
    (tmp_path / "stderr.log").write_text("a loader says something\n" * 9000 + led("", *FRAMES, ERROR))
    assert ended_by(reported(tmp_path, capsys), ERROR)


def test_of_two_runs_the_traceback_is_the_one_that_it_is_called_like(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.jsonl").write_text(rows(60))
    (tmp_path / "second.err").write_text(led("", *FRAMES, ERROR))
    assert main(["report", str(tmp_path), "--all", "--format", "json"]) == 0
    states = {Path(one["run"]["path"]).stem: one["run"]["state"] for one in json.loads(capsys.readouterr().out)}
    assert states == {"first": "unknown", "second": "crashed"}


def test_an_error_after_which_rows_were_written_ended_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "metrics.jsonl").write_text(rows(60))
    errors = tmp_path / "stderr.log"
    errors.write_text(led("", *FRAMES, ERROR))
    ten_minutes_earlier = (tmp_path / "metrics.jsonl").stat().st_mtime - 600.0
    os.utime(errors, (ten_minutes_earlier, ten_minutes_earlier))
    report = reported(tmp_path, capsys)
    assert report["run"]["state"] == "unknown"
    assert "run-crashed" not in [f["id"] for f in report["findings"]]


def test_the_cause_of_an_error_that_is_quoted_is_not_called_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.log").write_text(console(60) + led("", *FRAMES, ERROR))
    report = reported(tmp_path, capsys)
    assert ended_by(report, ERROR)
    assert "not known" not in report["answer"]["why"]


@pytest.mark.parametrize("lead", ["[rank{}]: ", "[default{}]:", "{}: ", "[1,{}]<stderr>:", "trainer-{}  | "])
def test_tracebacks_of_ranks_that_print_at_once_are_each_followed_to_their_error(
    lead: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed = "".join(led(lead.format(rank), line) for line in (*FRAMES, ERROR) for rank in range(RANKS))
    (tmp_path / "train.log").write_text(console(60) + mixed)
    assert ended_by(reported(tmp_path, capsys), ERROR)


def test_a_log_that_breaks_off_within_a_traceback_tells_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.log").write_text(console(60) + led("", *FRAMES))
    report = reported(tmp_path, capsys)
    assert report["run"]["state"] == "crashed"
    assert "/opt/train/model.py:12 forward" in report["answer"]["what"]
