"""A cause has to be able to do what it is blamed for: as much, as suddenly, and with what is set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.reported import told

ROWS, AT = 200, 100
T = np.arange(ROWS)
GAINED = 0.3 + 0.6 * (1 - np.exp(-T / 30))
WENT = 1 - np.exp(-np.maximum(0, T - AT) / 15)


def _causes(folder: Path, **columns: np.ndarray) -> dict[str, dict[str, Any]]:
    whole = learning(ROWS) | {"score_min": np.zeros(ROWS), "score_max": np.ones(ROWS)} | columns
    page = told(write(folder / "run", whole))[2]
    found = next(f for f in page["findings"] if f["id"] == "reward-collapse")
    return {cause["text"]: cause for cause in found["causes"]}


def _of(causes: dict[str, dict[str, Any]], words: str) -> str:
    return next((str(cause["status"]) for text, cause in causes.items() if words in text), "left out")


def test_few_truncated_answers_cost_no_whole_reward(tmp_path: Path) -> None:
    """6 % more of the answers are cut, and 0.85 of the reward is gone."""
    score = GAINED * (1 - 0.97 * WENT) + wave(0, 0.01, ROWS, 1)
    causes = _causes(tmp_path / "few", score=score, cut=0.01 + 0.06 * WENT, length=wave(300, 5, ROWS, 7))
    assert _of(causes, "no longer end") == "contradicted"
    causes = _causes(tmp_path / "many", score=score, cut=0.01 + 0.9 * WENT, length=300 + 700 * WENT)
    assert _of(causes, "no longer end") == "supported"


def test_a_policy_that_walks_back_has_its_sign_turned(tmp_path: Path) -> None:
    """The KL falls while the reward falls to where it began, and rises again beyond."""
    score = GAINED * (1 - 0.97 * WENT) + wave(0, 0.01, ROWS, 1)
    away = np.where(T < AT, GAINED - 0.3, np.abs(0.55 - 1.1 * WENT) + 0.05)
    causes = _causes(tmp_path, score=score, kl=away + np.abs(wave(0, 0.01, ROWS, 3)))
    assert next(iter(causes)).startswith("What is right is unlearnt since that step")


def test_updates_that_lead_back_are_no_loaded_weights(tmp_path: Path) -> None:
    score = GAINED - (GAINED - 0.3) * WENT + wave(0, 0.01, ROWS, 1)
    kept = {"score": score, "entropy": 1.0 - 0.5 * (GAINED - 0.3) * (1 - WENT) + wave(0, 0.005, ROWS, 2)}
    kl = (GAINED - 0.3) * (1 - 0.995 * WENT) + 0.001 * np.abs(wave(0, 1, ROWS, 3))
    causes = _causes(tmp_path / "led", kl=kl, **kept)
    assert _of(causes, "old weights were loaded") != "supported"
    assert _of(causes, "weights of its reference again") != "supported"
    assert next(iter(causes)).startswith("The policy is pulled back to its reference")
    at_once = {"score": np.where(T < AT, GAINED, 0.3) + wave(0, 0.01, ROWS, 1)}
    at_once["kl"] = np.where(T < AT, GAINED - 0.3, 0.001) + 0.001 * np.abs(wave(0, 1, ROWS, 3))
    at_once["entropy"] = np.where(T < AT, 1.0 - 0.5 * (GAINED - 0.3), 1.0) + wave(0, 0.005, ROWS, 2)
    causes = _causes(tmp_path / "loaded", **at_once)
    assert "weights" in next(iter(causes))


def test_a_penalty_that_nobody_knows_of_is_not_said_to_be_off(tmp_path: Path) -> None:
    score = GAINED * (1 - 0.97 * WENT) + wave(0, 0.01, ROWS, 1)
    assert _of(_causes(tmp_path, score=score, kl=0.001 + T / ROWS), "The KL penalty is off") != "supported"
