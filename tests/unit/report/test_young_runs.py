"""A run with too few rows to judge: its answer tells what went from where to where, in the words of its algorithm, and
never asks for a reward where none can be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.readers.reported import reported

PAIRS = {"rewards/chosen": 0.5, "rewards/rejected": -0.5, "logps/chosen": -20.0, "logps/rejected": -30.0}


def state(tmp_path: Path, rows: list[dict[str, float]], name: str = "trainer_state.json") -> Path:
    path = tmp_path / name
    history = [{"step": 10 * i, "epoch": 0.1 * i, **row} for i, row in enumerate(rows, 1)]
    path.write_text(json.dumps({"log_history": history, "global_step": 10 * len(rows), "max_steps": 10 * len(rows)}))
    return path


def preference(count: int) -> list[dict[str, float]]:
    each = range(count)
    return [
        {"loss": 0.69 - 0.1 * i, "rewards/accuracies": 0.5 + 0.1 * i, "rewards/margins": 0.25 * i, **PAIRS}
        for i in each
    ]


def test_a_short_dpo_run_tells_its_values_and_asks_for_its_own_metric(tmp_path: Path) -> None:
    told = reported(state(tmp_path, preference(4)))
    text = told["verdict"]["text"]
    assert text.startswith("4 metric rows: too few to judge. Preference accuracy 0.5 → 0.8 and reward margin 0 → 0.75.")
    assert "rows with preference accuracy" in told["verdict"]["would_change"]


def test_one_of_a_reward_tells_it_and_one_that_goes_on_says_so_far(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps({"step": i, "reward": i / 8, "loss": 0.1}) + "\n" for i in range(1, 4)))
    text = reported(path)["verdict"]["text"]
    assert text.startswith("3 metric rows so far: too few to judge. Reward 0.125 → 0.375.")


@pytest.mark.parametrize("count", [0, 1])
def test_without_two_values_nothing_went_anywhere(count: int, tmp_path: Path) -> None:
    rows = [
        {"loss": 0.5, "grad_norm": 1.0, "reward": 0.25} if i < count else {"loss": 0.5, "grad_norm": 1.0}
        for i in (0, 1)
    ]
    assert "→" not in reported(state(tmp_path, rows))["verdict"]["text"]


@pytest.mark.parametrize("name", ["mean_token_accuracy", "eval_mean_token_accuracy", "token_acc"])
def test_the_accuracy_of_tokens_is_never_taken_for_a_reward(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rltui.cli import main

    rows = [{"loss": 2.0 - 0.01 * i, "grad_norm": 1.0, name: 0.5 + 0.01 * i} for i in range(20)]
    assert main(["report", str(state(tmp_path, rows))]) == 0
    assert "is the reward, say so" not in capsys.readouterr().out
