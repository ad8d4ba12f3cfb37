"""A trainer that evaluates within a step says, below the results of that, what it trained with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main

STEPS = range(1, 41)
EVALUATED = "Starting validation at step {i}...\nValidation Results:\n  - Accuracy: {v}\n  - Samples processed: 256\n"
TRAINED = "  - Loss: {a}\n  - Avg Reward: {b}\n  - KL: 0.5\nTiming:\n  - generation: 33.5s\n"


def log(title: str) -> str:
    out = ""
    for i in STEPS:
        out += f"\n======= Step {i}/40 =======\nProcessing rewards...\n"
        out += EVALUATED.format(i=i, v=i / 128) if i % 10 == 0 else ""
        out += f"\n{title}\n" + TRAINED.format(a=i / 64, b=i / 32)
    return out


@pytest.mark.parametrize("title", ["Training Results:", "📊 Training Results:", "--- Train ---", "train metrics:"])
def test_numbers_below_a_title_of_training_are_of_training(
    title: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "train.log"
    path.write_text(log(title))
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["step"], row["total_loss"], row["reward_mean"], row["kl_ref"]) for row in rows] == [
        (i, i / 64, i / 32, 0.5) for i in STEPS
    ]
    assert [row["val_score"] for row in rows if row.get("val_score") is not None] == [i / 128 for i in (10, 20, 30, 40)]


def test_other_titles_leave_it_an_evaluation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`Timing:` below the results of an evaluation is that evaluation's."""
    path = tmp_path / "train.log"
    out = ""
    for i in STEPS:
        out += f"\n======= Step {i}/40 =======\n" + TRAINED.format(a=i / 64, b=i / 32)
        out += "Validation Results:\n  - Accuracy: 0.5\nTiming:\n  - generation: 99.5s\n" if i % 10 == 0 else ""
    path.write_text(out)
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(99.5 not in (v for k, v in row.items() if not k.startswith(("val", "eval"))) for row in rows)


def test_a_panel_within_the_evaluation_is_no_step_told_once_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It shows samples, with a mean of its own, and comes too seldom to be known before the log ends."""
    panel = "──────── TRAINING STEP {i} ────────\n╭──── Reward Statistics ────╮\n│ Total Samples: 256 │\n"
    panel += "│ Avg Reward: 0.75 │\n╰──────────────────╯\n"
    out = ""
    for i in STEPS:
        out += f"\n======= Step {i}/40 =======\nProcessing rewards...,\n"
        if i % 10 == 0:
            out += EVALUATED.format(i=i, v=i / 128) + panel.format(i=i)
        out += "\nTraining Results:\n" + TRAINED.format(a=i / 64, b=i / 32)
    path = tmp_path / "train.log"
    path.write_text(out)
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["step"], row["total_loss"], row["reward_mean"]) for row in rows] == [
        (i, i / 64, i / 32) for i in STEPS
    ]
    assert main(["report", str(path), "--format", "json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert (run["steps"]["rows"], run["restarts"], run["attempts"]) == (40, [], [])
