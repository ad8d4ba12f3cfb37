"""Names that loops give to reward, true reward, loss and time, through the command line."""

from __future__ import annotations

import json
from math import sin
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main


def reported(folder: Path, rows: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["report", str(path), "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("total", ["avg_r_total", "mean_r_total", "r_total"])
def test_the_total_of_parts_called_r(total: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"step": i, total: i / 50, "avg_r_format": 0.5, "accuracy": i / 60} for i in range(1, 31)]
    metrics = reported(tmp_path, rows, capsys)["metrics"]
    assert metrics["reward_mean"]["key"] == total
    assert metrics["score_mean"]["key"] == "accuracy"


@pytest.mark.parametrize(("proxy", "gold"), [("proxy", "gold"), ("proxy_reward", "gold_reward"), ("reward", "gold_rm")])
def test_a_proxy_that_rises_while_the_true_reward_falls(
    proxy: str, gold: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither had a known name, so the run could not be judged."""
    rows = []
    for i in range(120):
        noise = 0.02 * sin(7.0 * i)
        rows.append({"step": i, proxy: i / 60 + noise, gold: 0.9 - ((i - 40) / 90) ** 2 + noise, "kl": i / 400})
    report = reported(tmp_path, rows, capsys)
    assert report["metrics"]["reward_mean"]["key"] == proxy
    assert report["metrics"]["score_mean"]["key"] == gold
    assert report["verdict"]["decision"] not in ("continue", "not-enough-evidence")


def test_rows_of_distillation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`time/step` is only the part of a step that waits for the update, `progress` the share that is done."""
    rows = [
        {"step": i, "epoch": 0, "progress": (i + 1) / 400, "learning_rate": 1e-4, "train_mean_nll": 1.6 - i / 200}
        | {"num_loss_tokens": 900, "time/get_batch": 4.0, "time/step": 2.0, "time/total": 9.0}
        for i in range(40)
    ]
    report = reported(tmp_path, rows, capsys)
    by_name = {name: metric["key"] for name, metric in report["metrics"].items()}
    assert by_name["total_loss"] == "train_mean_nll"
    assert by_name["time_per_step_s"] == "time/total"
    assert report["run"]["steps"]["total"] == 400


@pytest.mark.parametrize("name", ["t_roll", "time/t_roll", "time/roll"])
def test_time_to_roll_out(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"step": i, "reward": i / 40, name: 3.0, "t_train": 5.0} for i in range(1, 31)]
    assert reported(tmp_path, rows, capsys)["metrics"]["phase:rollout"]["key"] == name
