"""What is one fault is told loudly once, and what comes late in a long run is seen as what comes early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.evidence.present import least_share
from tests.unit.diagnosis.written import Columns, learning, wave, write
from tests.unit.reported import told

ROWS, AT = 240, 150


def findings(folder: Path, columns: Columns) -> tuple[dict[str, str], dict[str, Any]]:
    """Rule -> severity of what is open, and the verdict."""
    report = told(write(folder, columns))[2]
    return {f["id"]: f["severity"] for f in report["findings"] if f["status"] == "active"}, report["verdict"]


def jumps(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Three metrics that go to another level at one row."""
    out = {name: values.copy() for name, values in columns.items()}
    out["grad"][AT:] *= 6.0
    out["entropy"][AT:] *= 0.5
    out["length"][AT:] *= 1.8
    return out


def test_a_jump_in_a_sound_run_is_told_loudly(tmp_path: Path) -> None:
    said, _ = findings(tmp_path, jumps(learning(ROWS)))
    assert said["sudden-change"] == "warning"


def test_a_jump_in_a_run_that_was_sick_is_a_note(tmp_path: Path) -> None:
    columns = learning(ROWS)
    columns["kl"] = 0.02 * np.exp(np.maximum(0, np.arange(ROWS) - 40) / 20).clip(max=150)
    columns["score"] = columns["score"] - np.maximum(0, np.arange(ROWS) - 60) / 300
    said, _ = findings(tmp_path, jumps(columns))
    assert "kl-runaway" in said
    assert said["kl-runaway"] != "info"
    assert said.get("sudden-change", "info") == "info"


def test_a_reward_at_its_floor_is_not_told_as_a_decline_too(tmp_path: Path) -> None:
    columns, fallen = learning(ROWS), (np.maximum(0, np.arange(ROWS) - AT) / 25).clip(max=1)
    columns["score"] = columns["score"].clip(0, 0.7) * (1 - fallen)
    columns["score_max"] = np.where(fallen < 1, 1.0, 0.0)
    columns["score_min"] = np.zeros(ROWS)
    columns["kl"] = columns["kl"] + 0.5 * fallen
    columns["entropy"] = columns["entropy"] * (1 - 0.9 * fallen)
    said, _ = findings(tmp_path, columns)
    loud = {rule for rule, severity in said.items() if severity != "info"}
    assert loud & {"reward-floor", "reward-collapse"}
    assert "reward-peak-decline" not in loud


def test_groups_without_variance_speak_for_a_gradient_of_zero(tmp_path: Path) -> None:
    columns = learning(ROWS)
    columns["score"] = wave(0.3, 0.02, ROWS, 1)
    dead = np.where(np.arange(ROWS) < 60, 0.2, 0.9) + wave(0, 0.02, ROWS, 12)
    columns["frac_reward_zero_std"] = dead.clip(0, 1)
    columns["grad"] = np.where(
        np.random.default_rng(5).random(ROWS) < (np.arange(ROWS) >= 60) * 0.85, 0.0, columns["grad"]
    )
    said, _ = findings(tmp_path, columns)
    assert said["zero-variance-groups"] != "info"
    assert said.get("no-learning-signal", "info") == "info"


@pytest.mark.parametrize("seed", range(4))
def test_answers_that_grow_late_are_seen_growing(seed: int, tmp_path: Path) -> None:
    """A trend of all rows does not show what grew in the newest fifth of them."""
    columns, late = learning(ROWS), np.maximum(0, np.arange(ROWS) - 190)
    columns["length"] = 300 * np.exp(0.035 * late - 0.0012 * np.arange(ROWS)) * wave(1, 0.06, ROWS, 20 + seed)
    columns["score"] = np.minimum(columns["score"], 0.6) - late * 0.005
    columns["cut"] = (0.01 + late * 0.015).clip(max=0.7)
    said, _ = findings(tmp_path, columns)
    assert said["length-explosion"] != "info"


def test_what_never_gained_is_mended_however_late_its_fault_came(tmp_path: Path) -> None:
    columns, n = learning(ROWS), np.arange(ROWS)
    columns["score"] = wave(0.3, 0.03, ROWS, 30)
    columns["kl"] = (0.002 + 0.0001 * n) * np.exp(np.maximum(0, n - AT) / 8).clip(max=2000)
    said, verdict = findings(tmp_path, columns)
    assert said["kl-runaway"] == "critical"
    assert verdict["decision"] == "pause-and-fix"


def test_five_of_five_are_no_certainty() -> None:
    for rows, low, high in ((5, 0.5, 0.6), (20, 0.8, 0.9), (200, 0.97, 0.99)):
        assert low < least_share(np.ones(rows)) < high
    alike, drawn = np.full(12, 0.7), np.array([1.0] * 8 + [0.0] * 4)
    assert least_share(alike) > 0.6 > 0.45 > least_share(drawn)


def test_half_of_a_plan_is_half_of_its_steps(tmp_path: Path) -> None:
    """A run that logs every tenth step is half through its plan after a twentieth of as many rows."""
    rows = 120
    columns = learning(rows)
    columns |= {
        "score": wave(0.4, 0.02, rows, 40),
        "kl": np.full(rows, 1e-5),
        "frac_reward_zero_std": np.full(rows, 0.2),
    }
    columns["step"] = 10.0 * np.arange(1, rows + 1)
    (tmp_path / "config.json").write_text('{"total_training_steps": 1500, "actor_rollout_ref.actor.optim.lr": 1e-9}')
    said, _ = findings(tmp_path, columns)
    assert said["cfg-lr-too-low"] == "warning"
