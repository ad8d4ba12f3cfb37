"""Causes beside what the run's own config says: a switch that is off is named with its key, what is not part of the run
is never blamed, and what the config sets leads before what nobody could test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_planted_causes import CONFIG, ROWS, since
from tests.unit.diagnosis.written import finding, learning, wave, write
from tests.unit.reported import told

OFF = "path that would use it is switched off"
HOME = {
    "score": "reward",
    "kl": "kl",
    "entropy": "entropy",
    "loss": "loss",
    "grad": "grad_norm",
    "length": "resp_len",
    "lr": "lr",
    "step_s": "step_time",
}
HOME_CONFIG: Mapping[str, object] = {
    "lr": 1e-6,
    "group_size": 8,
    "batch_prompts": 64,
    "use_kl_loss": False,
    "use_kl_in_reward": False,
    "kl_loss_coef": 0.05,
    "max_new_tokens": 2048,
}
VERL_CONFIG: Mapping[str, object] = {
    **CONFIG,
    "actor_rollout_ref.actor.use_kl_loss": False,
    "actor_rollout_ref.actor.kl_loss_coef": 0.05,
    "algorithm.use_kl_in_reward": False,
}


def drifting(until: float = 1.6) -> dict[str, np.ndarray]:
    """KL grows and grows, and the reward stands still."""
    columns = learning(ROWS)
    columns["lr"] = wave(1e-6, 0, ROWS)
    columns["kl"] = np.concatenate((np.linspace(0.001, 0.03, 30), np.linspace(0.03, until, ROWS - 30)))
    columns["score"] = np.clip(wave(0.5, 0.015, ROWS, 1), 0, 1)
    return columns


def exploding() -> dict[str, np.ndarray]:
    """Entropy and KL rise, the reward falls, and in the end answers are cut off."""
    columns = learning(ROWS)
    columns["lr"] = wave(1e-6, 0, ROWS)
    columns["kl"] = np.concatenate((np.linspace(0.001, 0.05, 40), np.linspace(0.05, 2.6, ROWS - 40)))
    columns["entropy"] = since(0.4, 5.7, 0.02, 80, 55)
    columns["score"] = np.minimum(columns["score"], since(0.8, 0.0, 0.02, 60, 60))
    columns["cut"] = np.clip(since(0.002, 0.7, 0.02, 30, 120), 0, 1)
    columns["length"] = since(300, 1700, 0.02, 40, 115)
    return columns


def home(folder: Path, columns: Mapping[str, np.ndarray], config: Mapping[str, object]) -> Path:
    """A loop of one's own with the plain words."""
    folder.mkdir()
    lines = []
    for i in range(ROWS):
        told_of = " | ".join(f"{HOME[name]} {values[i]:.6g}" for name, values in columns.items() if name in HOME)
        lines.append(f"step {i + 1}/{ROWS} | {told_of}\n")
    (folder / "train.log").write_text("".join(lines), encoding="utf-8")
    (folder / "config.yaml").write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in config.items()), encoding="utf-8")
    return folder


def verl(folder: Path, columns: Mapping[str, np.ndarray], config: Mapping[str, object]) -> Path:
    write(folder, columns)
    (folder / "config.json").write_text(json.dumps(dict(config)), encoding="utf-8")
    return folder


def lead(report: Mapping[str, Any], rule: str = "") -> dict[str, Any]:
    """The first cause of a finding, by default of the one that comes first."""
    found = finding(report, rule) if rule else report["findings"][0]
    assert found is not None, [f["id"] for f in report["findings"]]
    first: dict[str, Any] = found["causes"][0]
    return first


@pytest.mark.parametrize(("kind", "config"), [(home, HOME_CONFIG), (verl, VERL_CONFIG)], ids=["own loop", "verl"])
def test_a_coefficient_without_its_switch_leads(kind: Any, config: Mapping[str, object], tmp_path: Path) -> None:
    page, long, report = told(kind(tmp_path / "run", drifting(), config))
    cause = lead(report, "kl-runaway")
    assert (cause["status"], OFF in cause["text"]) == ("supported", True), cause
    assert "0.05, use_kl_loss is " in cause["because"]
    assert OFF in report["answer"]["why"]
    assert "use_kl_loss: False → True" in page
    for text in (page, long):
        assert "of the policy gradient" not in text
        assert "KL term is in the loss" not in text
        assert "Lower the KL coefficient" not in text
        assert "Raise the KL coefficient" not in text


def test_a_coefficient_that_acts_is_not_called_switched_off(tmp_path: Path) -> None:
    config = {**HOME_CONFIG, "use_kl_loss": True, "kl_loss_coef": 0.0001}
    page, _, report = told(home(tmp_path / "run", drifting(), config))
    assert OFF not in page
    assert OFF not in report["answer"]["why"]
    assert "The KL penalty is off, or next to nothing" in lead(report, "kl-runaway")["text"]


def test_a_penalty_in_the_reward_is_no_penalty_switched_off(tmp_path: Path) -> None:
    config = {**VERL_CONFIG, "algorithm.use_kl_in_reward": True, "algorithm.kl_ctrl.kl_coef": 0.05}
    page, _, _ = told(verl(tmp_path / "run", drifting(), config))
    assert OFF not in page


def test_a_switch_below_a_part_of_its_path_is_read(tmp_path: Path) -> None:
    """Many loops keep the names of a framework without its outermost part."""
    config = {"actor.use_kl_loss": False, "actor.kl_loss_coef": 0.05, "actor.optim.lr": 1e-6, "rollout.n": 8}
    columns = drifting()
    columns["actor/kl_ref"] = columns.pop("kl")
    _, _, report = told(verl(tmp_path / "run", columns, config))
    assert OFF in lead(report, "kl-runaway")["text"]
    assert report["config"]["lr"]["value"] == 1e-6
    assert report["config"]["group_size"]["value"] == 8


def test_a_part_of_a_path_that_two_settings_share_names_neither(tmp_path: Path) -> None:
    config = {"optim.lr": 1e-3, "rollout.n": 8}
    _, _, report = told(verl(tmp_path / "run", drifting(), config))
    assert "lr" not in report["config"]
    assert "critic_lr" not in report["config"]


def test_plain_settings_beside_the_metrics_of_a_framework_are_read(tmp_path: Path) -> None:
    _, _, report = told(verl(tmp_path / "run", drifting(), HOME_CONFIG))
    assert OFF in lead(report, "kl-runaway")["text"]


def test_tools_are_not_blamed_where_there_are_none(tmp_path: Path) -> None:
    page, _, report = told(verl(tmp_path / "run", drifting(), {**CONFIG, "data.train_batch_size": 128}))
    assert "tokens that tools wrote" not in page
    cause = next(c for c in finding(report, "kl-runaway")["causes"] if "tools" in c["text"])  # type: ignore[index]
    assert cause["status"] == "contradicted"
    assert "tools" in cause["because"]


@pytest.mark.parametrize(
    ("config", "columns"),
    [({"actor_rollout_ref.rollout.multi_turn.enable": True}, {}), ({}, {"num_turns/mean": wave(5, 0.3, ROWS, 3)})],
    ids=["config", "metric"],
)
def test_tools_may_be_blamed_where_there_are_some(
    config: Mapping[str, object], columns: Mapping[str, np.ndarray], tmp_path: Path
) -> None:
    _, _, report = told(verl(tmp_path / "run", {**drifting(), **columns}, {**CONFIG, **config}))
    cause = next(c for c in finding(report, "kl-runaway")["causes"] if "tools" in c["text"])  # type: ignore[index]
    assert cause["status"] == "untestable"


@pytest.mark.parametrize("kind", [home, verl], ids=["own loop", "verl"])
def test_an_entropy_bonus_leads_when_entropy_explodes(kind: Any, tmp_path: Path) -> None:
    own = {"lr": 1e-6, "group_size": 8, "kl_coef": 0.001, "entropy_coeff": 0.02, "max_new_tokens": 2048}
    config = own if kind is home else {**CONFIG, "actor_rollout_ref.actor.entropy_coeff": 0.02}
    page, _, report = told(kind(tmp_path / "run", exploding(), config))
    assert "Entropy bonus" in lead(report, "entropy-explosion")["text"]
    assert "Entropy bonus" in report["answer"]["why"], report["answer"]["why"]
    assert "entropy_coeff: 0.02 → 0" in page
    assert "tokens that tools wrote" not in page


def test_without_a_bonus_none_is_blamed(tmp_path: Path) -> None:
    page, _, report = told(verl(tmp_path / "run", exploding(), CONFIG))
    assert "Entropy bonus too large" not in page
    assert "Set the entropy coefficient" not in page
    assert "Entropy bonus" not in report["answer"]["why"]


def test_the_stronger_cause_leads_a_loop_of_findings(tmp_path: Path) -> None:
    """KL and entropy drive each other: a small coefficient is a weaker reason than a bonus for entropy."""
    config = {
        **CONFIG,
        "actor_rollout_ref.actor.kl_loss_coef": 0.0005,
        "actor_rollout_ref.actor.entropy_coeff": 0.02,
    }
    _, _, report = told(verl(tmp_path / "run", exploding(), config))
    assert "Entropy bonus" in report["answer"]["why"]
    texts = [cause["text"] for cause in report["findings"][0]["causes"]]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(("bonus", "leads"), [(0.4, "Entropy bonus too large"), (0.0, "Learning rate too high")])
def test_a_setting_that_only_the_log_tells_is_tested_by_it(bonus: float, leads: str, tmp_path: Path) -> None:
    """A learning rate above the band all along, and a bonus that a script sets on the way: no config says either."""
    rows, at = 160, 70
    after = np.arange(rows) >= at
    over = np.clip((np.arange(rows) - at) / 40, 0, 1)
    columns = learning(rows) | {
        "lr": wave(2e-5, 0, rows),
        "kl": 0.02 + 0.02 * np.arange(rows) / rows + 1.5 * over,
        "entropy": 1.0 + 1.2 * over + wave(0, 0.01, rows, 2),
        "entropy_coef": np.where(after, bonus, 0.0),
    }
    columns["score"] = columns["score"] * (1 - 0.9 * over)
    found = finding(told(write(tmp_path / "run", columns))[2], "kl-runaway")
    assert found is not None
    assert found["causes"][0]["text"].startswith(leads), [(c["text"], c["because"]) for c in found["causes"][:3]]
