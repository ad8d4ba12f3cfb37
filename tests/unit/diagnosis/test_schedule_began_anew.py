"""A learning rate that had decayed and rises again is a schedule that began anew, be it at once or with a warm-up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import learning, wave
from tests.unit.reported import told

ROWS, AT = 240, 150
ANEW = "The schedule of the learning rate began anew: it had decayed and rose again"


def decays(rows: int, peak: float = 2e-6, least: float = 2e-8) -> np.ndarray:
    return least + (peak - least) * 0.5 * (1 + np.cos(np.pi * np.arange(rows) / rows))


def hurt(lr: np.ndarray) -> dict[str, np.ndarray]:
    """The policy gets worse from soon after `AT` on."""
    columns = learning(ROWS)
    since = np.clip((np.arange(ROWS) - AT - 4) / 40, 0, 1)
    columns["score"] = columns["score"] - 0.35 * since
    columns["kl"] = 0.02 * np.minimum(np.arange(ROWS) / 90, 1.0) + 0.4 * since
    columns["grad"] = columns["grad"] * (1 + 5 * since)
    columns["lr"] = lr
    return columns


def leading(folder: Path, lr: np.ndarray) -> str:
    return str(told(verl(folder, hurt(lr), CONFIG))[2]["answer"]["why"])


@pytest.mark.parametrize("warm_up", [1, 8, 25])
@pytest.mark.parametrize("peak", [2e-6, 6e-7])
def test_a_schedule_that_began_anew_leads(warm_up: int, peak: float, tmp_path: Path) -> None:
    again = np.minimum(1.0, np.arange(1, ROWS - AT + 1) / warm_up) * peak
    why = leading(tmp_path / "run", np.concatenate((decays(AT, peak), again)))
    assert why.startswith(ANEW)
    assert f"from step {AT + 1} to {AT + warm_up}" in why


@pytest.mark.parametrize("course", ["constant", "warm-up", "decay", "noisy"])
def test_other_courses_began_nothing_anew(course: str, tmp_path: Path) -> None:
    lr = {
        "constant": np.full(ROWS, 1e-6),
        "warm-up": np.minimum(1.0, np.arange(1, ROWS + 1) / (AT + 10)) * 1e-6,
        "decay": decays(ROWS),
        "noisy": wave(1e-6, 5e-8, ROWS, 3),
    }[course]
    assert ANEW not in leading(tmp_path / "run", lr)
