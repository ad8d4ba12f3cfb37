"""What the run's own numbers or its config say outright is named as the cause, and its remedy is of use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import ACTOR, CONFIG
from tests.unit.diagnosis.written import finding, learning, wave, write
from tests.unit.reported import told

ROWS = 200
GROUPS = "zero-variance-groups"


def first_cause(report: Mapping[str, Any], rule: str) -> str:
    found = finding(report, rule)
    assert found is not None, [(f["id"], f["severity"]) for f in report["findings"]]
    return str(found["causes"][0]["text"]) if found["causes"][0]["status"] == "supported" else ""


def level(rows: int = ROWS) -> dict[str, np.ndarray]:
    columns = learning(rows)
    columns["score"] = np.clip(wave(0.4, 0.01, rows, 1), 0, 1)
    columns["kl"] = wave(0.01, 0.001, rows, 12)
    columns["lr"] = wave(1e-6, 0, rows)
    return columns


@pytest.mark.parametrize(
    ("task", "extra", "starts"),
    [(0.02, 1.0, "The data is too hard"), (0.96, 0.2, "The data is too easy"), (0.5, 0.5, "Data too easy or too hard")],
)
@pytest.mark.parametrize("parts", [True, False], ids=["parts", "whole"])
def test_groups_agree_for_one_reason(task: float, extra: float, starts: str, parts: bool, tmp_path: Path) -> None:
    columns = level()
    right = np.clip(wave(task, 0.005, ROWS, 3), 0, 1)
    columns["score"] = right + extra if parts else right
    if parts:
        columns["rewards/answer_correct/mean"] = right
        columns["rewards/tag_format/mean"] = wave(extra, 0.001, ROWS, 4)
    columns["frac_reward_zero_std"] = np.clip(wave(0.85, 0.02, ROWS, 5), 0, 1)
    report = told(verl(tmp_path / "run", columns, CONFIG))[2]
    assert first_cause(report, GROUPS).startswith(starts)


@pytest.mark.parametrize("size", [1, 2])
def test_a_group_of_one_gives_no_signal(size: int, tmp_path: Path) -> None:
    columns = level()
    columns["grad"] = columns["loss"] = np.zeros(ROWS)
    report = told(verl(tmp_path / "run", columns, {**CONFIG, "actor_rollout_ref.rollout.n": size}))[2]
    assert first_cause(report, "no-learning-signal").startswith("A group of one sample") == (size == 1)
    assert ("rollout.n: 1 → 8" in report["answer"]["do"]) == (size == 1)


def test_one_sample_a_prompt_is_no_group_if_a_critic_gives_the_baseline(tmp_path: Path) -> None:
    columns = level()
    columns["grad"] = columns["loss"] = np.zeros(ROWS)
    config = {**CONFIG, "actor_rollout_ref.rollout.n": 1, "algorithm.adv_estimator": "gae"}
    report = told(verl(tmp_path / "run", columns, config))[2]
    assert not first_cause(report, "no-learning-signal").startswith("A group of one sample")


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_a_task_without_weight_does_not_count(weight: float, tmp_path: Path) -> None:
    rise = 1 - np.exp(-np.arange(ROWS) / 50)
    task = 0.35 - 0.15 * rise + wave(0, 0.02, ROWS, 6)
    tags = 0.4 + 0.55 * rise + wave(0, 0.01, ROWS, 7)
    columns = {"reward": weight * task + tags, "rewards/exact_match": task, "rewards/tags": tags}
    columns |= {"loss": wave(0, 0.01, ROWS, 3), "grad": wave(0.5, 0.05, ROWS, 4), "kl": wave(0.01, 0.001, ROWS, 5)}
    report = told(write(tmp_path / "run", columns))[2]
    cause = first_cause(report, "reward-component-decoupling")
    assert cause.startswith("The task does not count") == (weight == 0.0)


@pytest.mark.parametrize("rate", [2e-10, 3e-9, 4e-8])
def test_a_rate_far_too_low_is_raised_to_the_usual_range(rate: float, tmp_path: Path) -> None:
    columns = level()
    columns["lr"] = wave(rate, 0, ROWS)
    columns["kl"] = np.abs(wave(1e-5, 1e-6, ROWS, 12))
    report = told(verl(tmp_path / "run", columns, {**CONFIG, f"{ACTOR}.optim.lr": rate}))[2]
    raised = {fix["to"] for f in report["findings"] for fix in f["fixes"] if fix["config_key"] == f"{ACTOR}.optim.lr"}
    assert raised == {5e-7}


@pytest.mark.parametrize("clip", [0.0005, 0.2])
def test_tokens_beyond_a_tiny_clip_range_are_no_large_steps(clip: float, tmp_path: Path) -> None:
    columns = level()
    columns["clip"] = np.clip(wave(0.8, 0.02, ROWS, 6), 0, 1)
    sizes = {f"{ACTOR}.ppo_mini_batch_size": 32, f"{ACTOR}.clip_ratio": clip}
    config = {key: value for key, value in CONFIG.items() if "clip_ratio" not in key} | sizes
    report = told(verl(tmp_path / "run", columns, config))[2]
    too_large, scale = (finding(report, rule) for rule in ("policy-step-too-large", "cfg-clip-range-wrong-scale"))
    assert (too_large is None) == (clip < 0.1)
    if clip < 0.1:
        assert scale is not None
        assert scale["severity"] == "critical"
        assert first_cause(report, "cfg-clip-range-wrong-scale").startswith("The range is far below the usual one")


def falls(columns: dict[str, np.ndarray], at: int = 120) -> None:
    columns["score"] = 0.25 + 0.5 * np.minimum(np.arange(ROWS) / 80, 1.0)
    columns["score"] = columns["score"] * (1 - 0.5 * np.clip((np.arange(ROWS) - at) / 60, 0, 1)) + wave(
        0, 0.01, ROWS, 1
    )


@pytest.mark.parametrize("coef", [0.0, 0.01])
def test_an_unguarded_policy_gets_a_penalty_first(coef: float, tmp_path: Path) -> None:
    columns = level()
    falls(columns)
    columns["kl"] = 0.01 * np.exp(4.5 * np.clip((np.arange(ROWS) - 70) / 130, 0, 1)) * (1 + wave(0, 0.05, ROWS, 8))
    report = told(verl(tmp_path / "run", columns, {**CONFIG, f"{ACTOR}.kl_loss_coef": coef}))[2]
    assert (f"{ACTOR}.kl_loss_coef: 0 → 0.001" in report["answer"]["do"]) == (coef == 0.0)
    assert report["answer"]["why"].startswith("The KL penalty is off, or next to nothing") == (coef == 0.0)


def test_responses_that_grow_lead_before_a_mere_setting(tmp_path: Path) -> None:
    columns = level()
    falls(columns)
    columns["length"] = 300 * (1 + 0.9 * np.clip((np.arange(ROWS) - 115) / 70, 0, 1)) + wave(0, 5, ROWS, 7)
    config = {**CONFIG, f"{ACTOR}.optim.lr_scheduler_type": "constant"}
    report = told(verl(tmp_path / "run", columns, config))[2]
    for rule in ("reward-collapse", "reward-peak-decline"):
        if finding(report, rule) is not None:
            assert first_cause(report, rule).startswith("Responses grow while the reward falls")
    columns["length"] = wave(300, 5, ROWS, 7)
    report = told(verl(tmp_path / "steady", columns, config))[2]
    assert "Responses grow while" not in report["answer"]["why"]
