"""No advice for what the run's own config has already, and none that its config leaves no room for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import finding, learning, wave
from tests.unit.reported import told

ROWS = 200
TOKENS = "Average the loss over tokens"
SAMPLING = "dynamic sampling"


@pytest.mark.parametrize(("mode", "advised"), [("seq-mean-token-mean", True), ("token-mean", False)])
def test_a_setting_that_the_run_has_is_not_advised(mode: str, advised: bool, tmp_path: Path) -> None:
    """Answers grow into the limit, and are paid for it."""
    grown = np.linspace(0, 1, ROWS)
    columns = learning(ROWS) | {
        "length": 300 + 1500 * grown + wave(0, 10, ROWS, 7),
        "cut": np.clip(0.9 * grown - 0.1, 0.0, 1.0),
    }
    columns["score"] = np.minimum(columns["score"], 0.6 - 0.3 * np.clip(2 * grown - 1, 0, 1)) + 0.1 * grown
    config = CONFIG | {"actor_rollout_ref.actor.loss_agg_mode": mode}
    found = finding(told(verl(tmp_path / "run", columns, config))[2], "truncation-high")
    assert found is not None
    assert any(fix["text"].startswith(TOKENS) for fix in found["fixes"]) == advised, found["fixes"]


@pytest.mark.parametrize(("size", "advised"), [(8, True), (1, False)])
def test_groups_of_one_are_not_to_be_sampled_until_they_differ(size: int, advised: bool, tmp_path: Path) -> None:
    columns = learning(ROWS) | {
        "score": np.clip(wave(0.3, 0.02, ROWS, 4), 0, 1),
        "score_min": np.zeros(ROWS),
        "score_max": np.ones(ROWS),
        "frac_reward_zero_std": np.full(ROWS, 1.0 if size == 1 else 0.9),
    }
    config = CONFIG | {"actor_rollout_ref.rollout.n": size}
    found = finding(told(verl(tmp_path / "run", columns, config))[2], "zero-variance-groups")
    assert found is not None
    assert any(SAMPLING in fix["text"].lower() for fix in found["fixes"]) == advised, found["fixes"]
