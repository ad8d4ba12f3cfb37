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


@pytest.mark.parametrize("seed", range(4))
def test_answers_that_grow_late_are_seen_growing(seed: int, tmp_path: Path) -> None:
    """A trend of all rows does not show what grew in the newest fifth of them."""
    columns, late = learning(ROWS), np.maximum(0, np.arange(ROWS) - 190)
    columns["length"] = 300 * np.exp(0.035 * late - 0.0012 * np.arange(ROWS)) * wave(1, 0.06, ROWS, 20 + seed)
    columns["score"] = np.minimum(columns["score"], 0.6) - late * 0.005
    columns["cut"] = (0.01 + late * 0.015).clip(max=0.7)
    said, _ = findings(tmp_path, columns)
    assert said["length-explosion"] != "info"


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
