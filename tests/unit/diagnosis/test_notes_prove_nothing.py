"""A finding proves a cause if it is a warning, or was one; a mere note on the policy is a hint, shown as one. What an
evaluation shows came of steps before it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.draws import some
from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.reported import told

ROWS, FALLS = 280, 170
DRIFTED, REPEATED = "Entropy is used up, or the policy has drifted", "Train data repeated"


def declining(folder: Path, kl: np.ndarray, seed: int) -> tuple[str, dict[str, Any]]:
    """The reward falls from a step on."""
    columns = learning(ROWS)
    fallen = np.clip((np.arange(ROWS) - FALLS) / (ROWS - FALLS), 0, 1)
    columns["score"] = columns["score"] * (1 - 0.5 * fallen) + wave(0, 0.01, ROWS, seed + 50)
    columns["entropy"] = wave(0.6, 0.01, ROWS, seed + 20)
    columns["kl"] = kl + wave(0, 0.0005, ROWS, seed)
    columns["lr"] = wave(1e-6, 0, ROWS)
    page, _, report = told(verl(folder, columns, CONFIG))
    return page, report


def causes(report: dict[str, Any], text: str) -> list[dict[str, Any]]:
    return [one for found in report["findings"] for one in found["causes"] if one["text"].startswith(text)]


@pytest.mark.parametrize("seed", some([0, 1, 2]))
@pytest.mark.parametrize("level", [0.06, 0.08])
def test_a_note_about_the_policy_proves_no_cause(level: float, seed: int, tmp_path: Path) -> None:
    page, report = declining(tmp_path / "run", np.linspace(0.001, level, ROWS), seed)
    notes = [found for found in report["findings"] if found["id"] == "kl-runaway"]
    assert notes, "the note is there"
    assert all(found["peak_severity"] == "info" for found in notes)
    found = causes(report, DRIFTED)
    assert found
    assert all(one["status"] != "supported" for one in found)
    for line in page.splitlines():
        assert not ("✓" in line and "KL to reference has grown" in line), line


def test_it_is_told_as_a_hint(tmp_path: Path) -> None:
    _, report = declining(tmp_path / "run", np.linspace(0.001, 0.07, ROWS), 0)
    hints = [one for one in causes(report, DRIFTED) if one["status"] == "untestable"]
    assert hints
    assert hints[0]["because"].startswith("all that speaks for it is the note")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_warning_that_began_before_does(seed: int, tmp_path: Path) -> None:
    drift = 2.0 * np.clip((np.arange(ROWS) - FALLS + 30) / 60, 0, 1)
    _, report = declining(tmp_path / "run", 0.01 + drift, seed)
    assert any(one["status"] == "supported" for one in causes(report, DRIFTED))


def overfit(folder: Path, passed: int, seed: int) -> dict[str, Any]:
    """The train reward rises anew from step 200 on, validation (every 50 steps) falls, and the data are used up at
    a step."""
    rows, turn = 400, 200
    columns = learning(rows)
    steps = np.arange(1, rows + 1)
    hacked = np.clip((steps - turn) / 60, 0, 1)
    columns["score"] = columns["score"] + 0.2 * hacked
    columns["val"] = 0.2 + 0.3 * (1 - np.exp(-steps / 60)) - 0.2 * hacked + wave(0, 0.004, rows, seed)
    columns["lr"] = wave(1e-6, 0, rows)
    columns["training/epoch"] = steps / passed
    write(folder, columns, every={"val": 50})
    (folder / "config.json").write_text(json.dumps(dict(CONFIG)), encoding="utf-8")
    return told(folder)[2]


@pytest.mark.parametrize("seed", some([0, 1]))
@pytest.mark.parametrize("passed", [249, 290])
def test_data_that_repeat_later_explain_no_fall(passed: int, seed: int, tmp_path: Path) -> None:
    found = causes(overfit(tmp_path / "run", passed, seed), REPEATED)
    assert found
    assert all(one["status"] != "supported" for one in found), found


@pytest.mark.parametrize("seed", [0, 1])
def test_data_that_repeat_before_may(seed: int, tmp_path: Path) -> None:
    found = causes(overfit(tmp_path / "run", 160, seed), REPEATED)
    assert any(one["status"] == "supported" for one in found)
