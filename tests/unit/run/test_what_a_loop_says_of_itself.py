"""The plan and the algorithm of loops that tell them in their own words, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.test_notebook import reported

PLAN = 60


def logged(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    "config",
    [
        {"type": "config", "args": {"steps": PLAN, "lr": 1e-5}},
        {"config": {"max_steps": PLAN, "lr": 1e-5}},
        {"cfg": {"training": {"num_steps": PLAN, "lr": 1e-5}}},
        {"hparams": {"total_steps": PLAN, "lr": 1e-5}},
    ],
    ids=lambda config: next(iter(json.loads(json.dumps(config)).keys() - {"type"})),
)
def test_a_plan_among_the_settings_of_a_first_row(
    config: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was shown as a setting, and the finished run was told to go on."""
    rows = [{"step": step, "mean_reward": 0.2 + step / 200, "loss": 0.1} for step in range(0, PLAN + 1, 3)]
    run = reported(logged(tmp_path / "log.jsonl", config, *rows), capsys)["run"]
    assert run["steps"]["total"] == PLAN
    assert run["state"] == "finished"


def test_a_plan_of_another_stage_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"step": step, "mean_reward": 0.2 + step / 200, "loss": 0.1} for step in range(40)]
    path = logged(tmp_path / "log.jsonl", {"config": {"sft": {"max_steps": 50}, "eval": {"steps": 45}}}, *rows)
    assert reported(path, capsys)["run"]["steps"]["total"] is None


@pytest.mark.parametrize(
    ("name", "expected"), [("dpo_loss", "DPO"), ("grpo_loss", "GRPO"), ("rloo_loss", "RLOO"), ("aux_loss", None)]
)
def test_a_loss_that_bears_the_name_of_an_algorithm(
    name: str, expected: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        f"Epoch:[1/1]({i}/80), loss: {0.69 - i / 900:.4f}, {name}: {0.68 - i / 900:.4f}\n" for i in range(5, 81, 5)
    ]
    path = tmp_path / "train.log"
    path.write_text("".join(lines))
    assert reported(path, capsys)["run"]["algorithm"] == expected


def test_a_dpo_run_with_only_a_loss_is_asked_for_what_dpo_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"step": i, "loss": 0.7 - i / 200, "dpo_loss": 0.7 - i / 200} for i in range(1, 31)]
    verdict = reported(logged(tmp_path / "log.jsonl", *rows), capsys)["verdict"]
    assert verdict["text"].startswith("No preference accuracy")
    assert "preference accuracy" in verdict["would_change"]
    assert "reward" not in verdict["text"] + verdict["would_change"]


def test_preference_accuracy_alone_is_dpo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """LLaMA-Factory writes it as `accuracy` into its own log, with nothing else of the pairs."""
    rows = [
        {"current_steps": i, "total_steps": 90, "loss": 0.7 - i / 200, "accuracy": 0.5 + i / 90, "lr": 1e-6}
        | {"epoch": i / 90, "percentage": i / 0.9, "elapsed_time": f"0:00:{i:02d}", "remaining_time": "0:01:00"}
        for i in range(1, 41)
    ]
    report = reported(logged(tmp_path / "trainer_log.jsonl", *rows), capsys)
    assert report["run"]["algorithm"] == "DPO"
    assert report["metrics"]["dpo_accuracy"]["count"] == 40
    assert "no reward" not in report["verdict"]["text"].lower()


def test_pairs_that_only_the_evaluation_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"step": i, "loss": 0.7 - i / 200} for i in range(2, 31, 2)]
    told = {"eval_loss": 0.6, "eval_rewards/accuracies": 0.7, "eval_rewards/margins": 0.2}
    rows += [{"step": 10, **told}, {"step": 20, **told}]
    report = reported(logged(tmp_path / "log.jsonl", *sorted(rows, key=lambda row: row["step"])), capsys)
    assert report["run"]["algorithm"] == "DPO"
