"""Causes beside the run's own numbers: none that they speak against leads, none begins after its effect, and advice
does not take away what is not there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import ACTOR, CONFIG, ROWS, rate_jumps, since
from tests.unit.diagnosis.written import finding, learning, wave
from tests.unit.reported import told


def usual() -> dict[str, np.ndarray]:
    columns = learning(ROWS)
    columns["lr"] = wave(1e-6, 0, ROWS)
    return columns


def causes(report: Mapping[str, Any], rule: str) -> dict[str, str]:
    """Text -> status."""
    found = finding(report, rule)
    assert found is not None, [(f["id"], f["severity"]) for f in report["findings"]]
    return {cause["text"]: cause["status"] for cause in found["causes"]}


def growing_into_the_limit() -> dict[str, np.ndarray]:
    columns = usual()
    columns["length"] = since(400, 1900, 0.02, 70, 70)
    columns["longest"] = np.minimum(2048, columns["length"] * 2.2)
    columns["cut"] = np.clip(since(0.002, 0.75, 0.02, 50, 95), 0, 1)
    columns["score"] = np.minimum(columns["score"], since(0.8, 0.2, 0.02, 50, 95))
    return columns


def test_answers_that_grow_into_the_limit_are_not_paid_for(tmp_path: Path) -> None:
    page, _, report = told(verl(tmp_path / "run", growing_into_the_limit(), CONFIG))
    found = causes(report, "length-explosion")
    assert found["The reward rises with the answers: it pays for length, or length costs nothing"] == "contradicted"
    assert next(iter(found)).startswith("Responses grow into the length limit")
    assert "max_response_length: 2048 → 4096" in page
    assert "Nothing to fix" not in page


def test_a_course_that_rose_and_fell_has_no_slope_against_its_ends(tmp_path: Path) -> None:
    columns = usual()
    rise = np.linspace(0.3, 0.7, 120)
    columns["score"] = np.concatenate((rise, np.linspace(0.7, 0.1, ROWS - 120))) + wave(0, 0.01, ROWS, 1)
    _, _, report = told(verl(tmp_path / "run", columns, CONFIG))
    assert report["metrics"]["score_mean"]["slope_per_100_steps"] > 0, "that of all rows goes up"
    evidence = [e for f in report["findings"] for e in f["evidence"] if e["metric"] == "score_mean"]
    assert evidence
    assert all(e["last"] < e["first"] and e["slope_per_100_steps"] is None for e in evidence)


def test_a_bonus_that_nobody_set_is_not_taken_away(tmp_path: Path) -> None:
    columns = usual()
    rate_jumps(columns)
    columns["entropy"] = since(0.5, 1.4, 0.02, 20)
    without = {key: value for key, value in CONFIG.items() if not key.endswith("entropy_coeff")}
    _, long, report = told(verl(tmp_path / "run", columns, without))
    assert "ntropy bonus" not in " ".join(fix["text"] for f in report["findings"] for fix in f["fixes"])
    assert "did not jump before" not in long, "it says which way it did not go"
    _, _, report = told(verl(tmp_path / "set", columns, {**CONFIG, f"{ACTOR}.entropy_coeff": 0.01}))
    assert any(f["config_key"] == f"{ACTOR}.entropy_coeff" for x in report["findings"] for f in x["fixes"])


@pytest.mark.parametrize(("heat", "cold"), [(1.0, "contradicted"), (0.5, "supported")])
def test_only_a_low_temperature_is_called_low(heat: float, cold: str, tmp_path: Path) -> None:
    columns = usual()
    columns["score"] = np.clip(wave(0.4, 0.015, ROWS, 1), 0, 1)
    columns["entropy"] = np.maximum(0.05, since(0.8, 0.08, 0.02, 60, 30))
    columns["frac_reward_zero_std"] = np.clip(wave(0.62, 0.03, ROWS, 5), 0, 1)
    config = {**CONFIG, "actor_rollout_ref.rollout.temperature": heat}
    _, _, report = told(verl(tmp_path / "run", columns, config))
    found = causes(report, "zero-variance-groups")
    assert found["Temperature too low: samples of a group are identical"] == cold
    assert found["Entropy has fallen: samples of a group are alike"] != "supported", "the groups were so from the start"
    assert found["Data too easy or too hard for the policy"] == "supported"


@pytest.mark.parametrize(("rate", "leads"), [(1e-8, True), (1e-5, False)])
def test_a_critic_slower_than_its_policy_leads_with_its_rate(rate: float, leads: bool, tmp_path: Path) -> None:
    columns = usual()
    columns["critic/vf_explained_var"] = wave(-1.4, 0.05, ROWS, 3)
    columns["critic/vf_loss"] = wave(0.33, 0.005, ROWS, 4)
    config = {**CONFIG, "algorithm.adv_estimator": "gae", "critic.optim.lr": rate, "actor_rollout_ref.rollout.n": 1}
    _, _, report = told(verl(tmp_path / "run", columns, config))
    first = next(iter(causes(report, "critic-uninformative")))
    assert (first == "The critic's learning rate does not fit") == leads
    fixes = [fix for f in report["findings"] for fix in f["fixes"]]
    assert [fix["to"] for fix in fixes if fix["value"] == rate] == ([1e-5] if leads else [])
    assert not any("above 0" in fix["text"] for fix in fixes)


@pytest.mark.parametrize(("epochs", "status"), [(1.6, "contradicted"), (12.0, "supported")])
def test_data_repeated_after_the_fall_did_not_cause_it(epochs: float, status: str, tmp_path: Path) -> None:
    columns = usual()
    columns["training/epoch"] = np.linspace(epochs / ROWS, epochs, ROWS)
    columns["score"] = np.clip(np.linspace(0.3, 0.9, ROWS) + wave(0, 0.01, ROWS, 1), 0, 1)
    course = np.concatenate((np.linspace(0.3, 0.6, 60), np.linspace(0.6, 0.35, ROWS - 60)))
    columns["val"] = course + wave(0, 0.004, ROWS, 2)
    folder = verl(tmp_path / "run", {name: values for name, values in columns.items() if name != "val"}, CONFIG)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for row, value in list(zip(rows, columns["val"], strict=True))[4::5]:
        row["val-core/gsm8k/acc/mean@1"] = float(value)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, _, report = told(folder)
    assert causes(report, "train-val-divergence")["Train data repeated"] == status


@pytest.mark.parametrize("best", [True, False], ids=["best answer logged", "mean alone"])
def test_a_reward_that_is_always_zero_has_one_order_of_causes(best: bool, tmp_path: Path) -> None:
    columns = usual()
    columns["score"] = np.zeros(ROWS)
    if best:
        columns["score_max"] = columns["score_min"] = np.zeros(ROWS)
    _, _, report = told(verl(tmp_path / "run", columns, CONFIG))
    open_ones = [text for text, status in causes(report, "reward-floor").items() if status != "contradicted"]
    assert open_ones[:2] == ["Answer parser or chat template does not fit", "The task is too hard for the model"]
    assert "five samples" in report["answer"]["why"]


def test_a_batch_of_two_prompts_is_advised_to_grow(tmp_path: Path) -> None:
    columns = usual()
    columns["score"] = np.clip(wave(0.4, 0.2, ROWS, 1), 0, 1)
    sizes = {"data.train_batch_size": 2, f"{ACTOR}.ppo_mini_batch_size": 2, "actor_rollout_ref.rollout.n": 4}
    page, _, _ = told(verl(tmp_path / "run", columns, {**CONFIG, **sizes}))
    assert "data.train_batch_size: 2 → 64" in page
    page, _, _ = told(verl(tmp_path / "usual", usual(), CONFIG))
    assert "more prompts an iteration" not in page
