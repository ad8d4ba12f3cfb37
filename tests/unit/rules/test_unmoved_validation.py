"""Training gains most of what there is to gain, whatever its scale, and validation nothing of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write

ROWS = 240
RISES = 1 - np.exp(-np.arange(ROWS) / 40)


@pytest.mark.parametrize(
    ("reward", "val", "told"),
    [
        (-2.0 + 5.0 * RISES, np.full(ROWS, 0.13), True),  # of a reward model: no scale of a share
        (-2.0 + 5.0 * RISES, 0.13 - 0.1 * RISES, True),
        (-2.0 + 5.0 * RISES, 0.13 + 0.5 * RISES, False),
        (0.2 * RISES, np.full(ROWS, 0.13), False),  # a bonus for the format: little of what there is to gain
    ],
    ids=["nothing", "less", "gains", "little to show"],
)
def test_validation_without_a_part_of_the_gain_is_told_of_any_scale(
    reward: np.ndarray, val: np.ndarray, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = learning(ROWS) | {"score": reward + wave(0, 0.02, ROWS, 3), "val": val + wave(0, 0.006, ROWS, 4)}
    if reward.max() < 1:
        columns |= {"score_min": np.zeros(ROWS), "score_max": np.ones(ROWS)}
    of = report(write(tmp_path / "run", columns, every={"val": 10}), capsys)
    found = finding(of, "train-val-divergence")
    assert (found is not None) == told
    if found is not None:
        assert "of what there was to gain" in found["summary"] or found["severity"] != "info"
        assert "All clear" not in of["verdict"]["text"]
