"""A learning rate that left the setting for some rows and came back: the setting is right, and what is said of the rate
is true of the present."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import ACTOR, CONFIG
from tests.unit.diagnosis.written import finding, learning, wave
from tests.unit.reported import told

ROWS, AT = 280, 170
RATE = f"{ACTOR}.optim.lr"


def spiked(
    folder: Path, lasts: int, times: float, seed: int, rows: int = ROWS, meant: float = 2e-6
) -> tuple[str, dict[str, Any]]:
    """The rate is many times what is set for some rows; KL jumps with it and stays, and the reward is lost."""
    columns = learning(rows)
    steps = np.arange(rows)
    rate = np.full(rows, meant)
    rate[AT : AT + lasts] *= times
    gone = np.clip((steps - AT) / 12, 0, 1)
    columns["lr"] = rate
    columns["kl"] = 0.01 + 0.9 * gone + wave(0, 0.01, rows, seed + 4) * gone
    columns["score"] = columns["score"] * (1 - 0.6 * gone) + wave(0, 0.01, rows, seed)
    page, _, report = told(verl(folder, columns, {**CONFIG, RATE: meant}))
    return page, report


def turned(report: dict[str, Any]) -> list[dict[str, Any]]:
    """What the open findings advise about the rate."""
    active = [f for f in report["findings"] if f["status"] == "active"]
    return [fix for f in active for fix in f["fixes"] if fix["config_key"] == RATE]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("lasts", "times"), [(8, 15), (16, 30)])
def test_the_setting_is_not_lowered(lasts: int, times: float, seed: int, tmp_path: Path) -> None:
    _, report = spiked(tmp_path / "run", lasts, times, seed)
    advice = turned(report)
    assert advice
    assert all(fix["to"] is None for fix in advice), advice
    first, last = AT + 1, AT + lasts
    assert any(f"from step {first} to {last}" in fix["text"] for fix in advice), advice


@pytest.mark.parametrize("seed", [0, 1])
def test_the_rate_is_no_longer_called_too_high(seed: int, tmp_path: Path) -> None:
    page, report = spiked(tmp_path / "run", 10, 20, seed)
    assert finding(report, "cfg-lr-too-high") is None
    assert "fell in the first rows" not in page


@pytest.mark.parametrize("seed", [0, 1])
def test_kl_that_rose_as_the_reward_fell_did_not_stay_the_same(seed: int, tmp_path: Path) -> None:
    page, _ = spiked(tmp_path / "run", 10, 20, seed)
    assert "distance from the reference stays the same" not in page


@pytest.mark.parametrize("seed", [0, 1])
def test_a_rate_that_is_still_off_goes_back_to_what_is_set(seed: int, tmp_path: Path) -> None:
    _, report = spiked(tmp_path / "run", 200, 10, seed, rows=AT + 40)
    assert any("learning rate 2e-5, as the config sets it to 2e-6" in fix["text"] for fix in turned(report))
    assert all(fix["value"] is None for fix in turned(report)), "the config does not say what the log does"


def test_a_rate_that_is_set_too_high_is_lowered(tmp_path: Path) -> None:
    _, report = spiked(tmp_path / "run", 0, 1, 0, meant=5e-5)
    assert any(fix["to"] is not None and fix["to"] < 5e-5 for fix in turned(report)), turned(report)


def test_a_high_rate_that_decays_was_high(tmp_path: Path) -> None:
    columns = learning(ROWS)
    columns["lr"] = 1e-5 + 1e-5 * np.cos(np.linspace(0, np.pi, ROWS))
    report = told(verl(tmp_path / "run", columns, {**CONFIG, RATE: 2e-5}))[2]
    assert finding(report, "cfg-lr-too-high") is not None
