"""A bare `accuracy` that comes in few rows, beside a reward in each, is the score of an evaluation."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.unit.reported import told

ROWS = 120


def write(folder: Path, key: str, rows: range, reward: str | None = "reward", scale: float = 1.0) -> Path:
    """A run of `ROWS` steps with a score in some of its rows."""
    draw = random.Random(4)
    lines = []
    for step in range(ROWS):
        row: dict[str, Any] = {"step": step, "loss": draw.gauss(0, 0.1), "kl": step * 1e-4}
        if reward is not None:
            row[reward] = 0.2 + step / 300 + draw.gauss(0, 0.02)
        if step in rows:
            row[key] = scale * (0.3 + step / 400 + draw.gauss(0, 0.01))
        lines.append(json.dumps(row))
    path = folder / "metrics.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def metrics(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = told(path)[2]["metrics"]
    return found


@pytest.mark.parametrize("key", ["accuracy", "acc", "pass@1", "exact_match", "score", "solve_rate"])
@pytest.mark.parametrize("every", [5, 20])
def test_a_rare_score_is_that_of_an_evaluation(key: str, every: int, tmp_path: Path) -> None:
    found = metrics(write(tmp_path, key, range(0, ROWS, every)))
    assert found["val_score"]["key"] == key
    assert "score_mean" not in found
    assert found["reward_mean"]["key"] == "reward"


def test_in_percent_it_is_a_share(tmp_path: Path) -> None:
    found = metrics(write(tmp_path, "accuracy_pct", range(0, ROWS, 10), scale=100.0))
    assert found["val_score"]["key"] == "accuracy_pct"
    assert 0.3 < found["val_score"]["last"] < 0.8


@pytest.mark.parametrize("rows", [range(ROWS), range(0, ROWS, 2), range(70, ROWS)], ids=["each", "every 2nd", "late"])
def test_a_score_of_the_step_stays_one(rows: range, tmp_path: Path) -> None:
    found = metrics(write(tmp_path, "accuracy", rows))
    assert found["score_mean"]["key"] == "accuracy"
    assert "val_score" not in found


def test_without_a_reward_it_is_all_that_tells_how_training_goes(tmp_path: Path) -> None:
    found = metrics(write(tmp_path, "accuracy", range(0, ROWS, 10), reward=None))
    assert found["score_mean"]["key"] == "accuracy"


def test_it_is_told(tmp_path: Path) -> None:
    found = told(write(tmp_path, "accuracy", range(0, ROWS, 10)))[1]
    assert "beside the reward of each step" in found
