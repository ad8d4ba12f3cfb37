"""A grader that answers at random, one that pays for the opposite, and those that look like them and are neither."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import finding, learning, wave
from tests.unit.reported import told

ROWS = 260
RANDOM = "The reward does not depend on the answers"
SIGN = "The reward pays for the opposite of what validation measures"


def drifts(folder: Path, score: np.ndarray, **more: np.ndarray) -> dict[str, Any]:
    """KL to the reference rises without end."""
    columns = learning(ROWS) | {"score": score, "kl": 0.002 + 0.15 * np.linspace(0, 1, ROWS), **more}
    return told(verl(folder, columns, CONFIG | {"actor_rollout_ref.actor.kl_loss_coef": 0.001}))[2]


def causes(report: dict[str, Any], rule: str) -> dict[str, str]:
    found = finding(report, rule)
    assert found is not None, [f["id"] for f in report["findings"]]
    return {str(cause["text"]): str(cause["status"]) for cause in found["causes"]}


def status(report: dict[str, Any], rule: str, start: str) -> str:
    return next(is_so for text, is_so in causes(report, rule).items() if text.startswith(start))


def test_drift_whose_reward_never_moved_is_not_told_as_a_weak_penalty(tmp_path: Path) -> None:
    report = drifts(tmp_path / "run", wave(0.5, 0.02, ROWS))
    assert next(iter(causes(report, "kl-up-reward-flat"))).startswith(RANDOM)
    assert status(report, "kl-up-reward-flat", "KL penalty too weak") == "contradicted"
    found = finding(report, "kl-up-reward-flat")
    assert found is not None
    assert found["fixes"][0]["text"].startswith("Grade the same answers twice")


def test_a_task_that_is_too_hard_is_no_random_grader(tmp_path: Path) -> None:
    dead = np.clip(wave(0.9, 0.02, ROWS, 2), 0, 1)
    report = drifts(tmp_path / "run", np.abs(wave(0.02, 0.005, ROWS)), frac_reward_zero_std=dead)
    assert status(report, "kl-up-reward-flat", RANDOM) == "contradicted"


@pytest.mark.parametrize(("agree", "spread", "is_so"), [(0.009, 0.5, "supported"), (0.2, 0.38, "contradicted")])
def test_groups_that_agree_no_more_than_coins_were_graded_at_random(
    agree: float, spread: float, is_so: str, tmp_path: Path
) -> None:
    """A grader that broke on the way: the reward had risen before."""
    late = np.arange(ROWS) >= 120
    score = np.where(late, 0.5, np.linspace(0.3, 0.6, ROWS)) + wave(0, 0.02, ROWS)
    groups = {"frac_reward_zero_std": np.where(late, agree, 0.25), "reward_std": np.where(late, spread, 0.35)}
    report = drifts(tmp_path / "run", score, **{name: x + wave(0, 0.002, ROWS) for name, x in groups.items()})
    assert status(report, "kl-up-reward-flat", RANDOM) == is_so


def test_a_sum_of_parts_whose_groups_never_agree_is_no_coin(tmp_path: Path) -> None:
    """Accuracy and a fifth of a format that varies in each group: no two answers are paid alike."""
    groups = {"frac_reward_zero_std": np.abs(wave(0.002, 0.001, ROWS)), "reward_std": wave(0.47, 0.01, ROWS)}
    parts = {"rewards/accuracy/mean": wave(0.4, 0.02, ROWS, 3), "rewards/format/mean": wave(0.5, 0.03, ROWS, 4)}
    report = drifts(tmp_path / "run", wave(0.5, 0.02, ROWS), **groups, **parts)
    assert "toss of a coin" not in str(report)
    alone = drifts(tmp_path / "alone", wave(0.5, 0.02, ROWS), **groups)
    assert "toss of a coin" in str(alone)


def validated(folder: Path, score: np.ndarray, val: np.ndarray) -> dict[str, Any]:
    columns = learning(ROWS) | {"score": score, "val": val}
    return told(verl(folder, columns, CONFIG))[2]


def test_a_reward_with_the_wrong_sign_leads(tmp_path: Path) -> None:
    right = 0.4 * (1 - np.linspace(0, 1, ROWS))
    report = validated(tmp_path / "run", -right + wave(0, 0.01, ROWS), np.abs(right + wave(0, 0.01, ROWS, 2)))
    for rule in ("train-val-divergence", "val-regression"):
        assert next(iter(causes(report, rule))).startswith(SIGN)


def test_overfitting_is_no_wrong_sign(tmp_path: Path) -> None:
    at = np.linspace(0, 1, ROWS)
    val = 0.4 + 0.1 * np.minimum(1, 3 * at) - 0.2 * np.clip(2 * at - 0.8, 0, 1)
    report = validated(tmp_path / "run", 0.4 + 0.5 * at + wave(0, 0.01, ROWS), val + wave(0, 0.01, ROWS, 2))
    assert status(report, "train-val-divergence", SIGN) == "contradicted"


def test_a_policy_that_fell_did_not_change_its_validation_set(tmp_path: Path) -> None:
    fall = 0.25 * np.clip((np.arange(ROWS) - 120) / 40, 0, 1)
    score = 0.3 + 0.2 * np.minimum(1, np.arange(ROWS) / 100) - fall + wave(0, 0.01, ROWS)
    val = np.where(np.arange(ROWS) >= 130, 0.25, 0.45) + wave(0, 0.01, ROWS, 2)
    report = validated(tmp_path / "run", score, val)
    assert status(report, "val-regression", "The validation set or its grading changed") == "contradicted"


def test_a_reward_that_is_farmed_from_the_start_is_no_wrong_sign(tmp_path: Path) -> None:
    at = np.linspace(0, 1, ROWS)
    score, val = 0.29 + 0.32 * at, 0.41 - 0.31 * at
    report = validated(tmp_path / "run", score + wave(0, 0.01, ROWS), val + wave(0, 0.01, ROWS, 2))
    assert status(report, "train-val-divergence", SIGN) == "contradicted"


def test_a_reward_that_rose_and_fell_was_not_graded_at_random(tmp_path: Path) -> None:
    at = np.arange(ROWS)
    score = 0.3 + 0.25 * np.minimum(1, at / 100) - 0.2 * np.clip((at - 140) / 90, 0, 1) + wave(0, 0.02, ROWS)
    report = drifts(tmp_path / "run", score)
    assert status(report, "kl-up-reward-flat", RANDOM) == "contradicted"
