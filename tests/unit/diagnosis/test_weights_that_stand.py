"""Updates that do not reach the weights: the run's own numbers tell it from prompts that are too hard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import Columns, learning, wave, write
from tests.unit.reported import told

ROWS = 160


def _page(folder: Path, columns: Columns) -> dict[str, Any]:
    return told(write(folder / "run", columns))[2]


def _loud(page: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f["id"]: f for f in page["findings"] if f["severity"] != "info" and f["status"] == "active"}


def frozen(level: float) -> dict[str, np.ndarray]:
    """What a run logs whose optimiser never writes its weights: batches differ, the policy does not."""
    share = np.random.default_rng(3).binomial(128, level, ROWS) / 128
    return learning(ROWS) | {
        "score": share,
        "kl": np.zeros(ROWS),
        "ppo_kl": np.zeros(ROWS),
        "clip": np.zeros(ROWS),
        "entropy": wave(1.0, 0.01, ROWS, 2),
        "lr": np.full(ROWS, 1e-6),
    }


@pytest.mark.parametrize("level", [0.02, 0.3, 0.7])
def test_weights_that_never_move_are_told_as_that(level: float, tmp_path: Path) -> None:
    page = _page(tmp_path, frozen(level))
    found = _loud(page)["no-learning-signal"]
    assert page["verdict"]["decision"] == "pause-and-fix"
    assert "KL to reference is 0 to the last digit in all 160 rows" in found["summary"]
    assert found["causes"][0]["status"] == "supported"
    assert "The optimiser does not change the weights" in found["causes"][0]["text"]


def test_a_kl_that_is_not_measured_is_no_frozen_policy(tmp_path: Path) -> None:
    moving = frozen(0.3) | {"entropy": np.linspace(1.0, 0.7, ROWS) + wave(0, 0.01, ROWS, 2)}
    assert "no-learning-signal" not in _loud(_page(tmp_path / "entropy", moving))
    risen = frozen(0.3) | {"score": learning(ROWS)["score"]}
    assert "no-learning-signal" not in _loud(_page(tmp_path / "reward", risen))


def test_without_a_kl_what_the_policy_writes_tells(tmp_path: Path) -> None:
    columns = frozen(0.3)
    del columns["kl"]
    found = _loud(_page(tmp_path, columns))["reward-flat-from-start"]
    assert "entropy stands at 1" in found["summary"].lower()
    assert found["causes"][0]["text"].startswith("Weights do not change")


def pairs(**changed: np.ndarray) -> dict[str, np.ndarray]:
    zero = np.zeros(ROWS)
    chosen = wave(-40.0, 2.0, ROWS, 5)
    columns = {
        "loss": np.full(ROWS, np.log(2.0)),
        "grad_norm": wave(0.5, 0.05, ROWS, 4),
        "learning_rate": np.full(ROWS, 1e-6),
        "rewards/chosen": zero,
        "rewards/rejected": zero,
        "rewards/margins": zero,
        "rewards/accuracies": zero,
        "logps/chosen": chosen,
        "logps/rejected": wave(-45.0, 2.0, ROWS, 6),
    }
    return columns | changed


def test_pairs_whose_policy_never_moves(tmp_path: Path) -> None:
    found = _loud(_page(tmp_path, pairs()))["no-learning-signal"]
    assert found["severity"] == "critical"
    assert "The optimiser does not change the weights" in found["causes"][0]["text"]


def test_a_rate_of_zero_of_pairs_is_not_rounded(tmp_path: Path) -> None:
    found = _loud(_page(tmp_path, pairs(learning_rate=np.zeros(ROWS))))["no-learning-signal"]
    assert found["causes"][0]["text"].startswith("Learning rate 0")


def test_pairs_of_the_same_answers(tmp_path: Path) -> None:
    dust = np.abs(wave(0.0, 1e-17, ROWS, 4))
    same = dict.fromkeys(("grad_norm", "rewards/chosen", "rewards/rejected"), dust)
    same["logps/rejected"] = pairs()["logps/chosen"]
    loud = _loud(_page(tmp_path, pairs(**same)))
    assert loud["no-learning-signal"]["causes"][0]["text"].startswith("Chosen and rejected are the same answers")
    assert loud["dpo-no-signal-or-saturated"]["causes"][0]["text"] == "Chosen and rejected are the same answers"
