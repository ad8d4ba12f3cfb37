"""The line of KL, reward and validation tells the courses that the verdict tells."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.reported import told

ROWS = 240


@pytest.mark.parametrize("level", [0.3, 0.5, 0.8])
def test_a_gain_that_has_levelled_off_is_a_gain_in_both(level: float, tmp_path: Path) -> None:
    rise = np.minimum(1.0, np.arange(ROWS) / (level * ROWS))
    columns = learning(ROWS) | {
        "score": 0.3 + 0.35 * rise + wave(0, 0.02, ROWS, 3),
        "val": 0.28 + 0.3 * rise + wave(0, 0.008, ROWS, 4),
    }
    page, _, of = told(write(tmp_path / "run", columns, {"val": 15}, end=True))
    assert re.search(r"Reward rose", of["verdict"]["text"])
    case = of["outlook"]["kl_reward"]
    assert (case["reward"], case["validation"], case["lately"]) == ("up", "up", [])
    assert "reward up, validation up" in page


def test_noise_is_no_course_in_either(tmp_path: Path) -> None:
    columns = learning(ROWS) | {"score": wave(0.4, 0.02, ROWS, 5), "val": wave(0.4, 0.01, ROWS, 6)}
    _, _, of = told(write(tmp_path / "run", columns, {"val": 15}, end=True))
    case = of["outlook"]["kl_reward"]
    assert (case["reward"], case["validation"]) == ("flat", "flat")
