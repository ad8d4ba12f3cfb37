"""What rewards of preference pairs show by their own arithmetic: pairs that turned over, and the beta in use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, report, wave, write

ROWS, AT = 80, 50
T = np.arange(ROWS)
LEARNT = 1 - np.exp(-T / 12)


def pairs(
    folder: Path, capsys: pytest.CaptureFixture[str], side: np.ndarray, beta: float = 0.1, upto: int = ROWS
) -> dict[str, Any]:
    """Pairs that are learnt, at beta; `side` is 1 where they are told apart as they were learnt, and -1 where the wrong
    way round."""
    gap = 4.0 * LEARNT * side
    margin = beta * (gap + wave(0, 0.1, ROWS, 2))
    columns = {
        "rewards/accuracies": 0.5 + 0.38 * LEARNT * side + wave(0, 0.02, ROWS, 1),
        "rewards/margins": margin,
        "logps/chosen": -180 + gap / 4 + wave(0, 0.3, ROWS, 3),
        "logps/rejected": -200 - 3 * gap / 4 + wave(0, 0.3, ROWS, 4),
        "loss": np.log1p(np.exp(-margin)),
        "grad_norm": wave(2, 0.2, ROWS, 6),
        "learning_rate": np.full(ROWS, 5e-7),
    }
    return report(write(folder, columns), capsys, "--at", str(upto))


SIDES = {
    "turned over": (np.where(T >= AT, -1.0, 1.0), True),
    "batches of both kinds": (np.where(T >= AT, -0.9, np.where(T == AT - 1, 0.2, 1.0)), True),
    "unlearnt in 20 rows": (np.clip(1 - (T - AT + 15) / 10, -1, 1), False),
    "noise since": (np.where(T >= AT, -0.15, 1.0), False),
}


@pytest.mark.parametrize(("side", "turned"), SIDES.values(), ids=list(SIDES))
def test_pairs_that_turn_over_are_told_in_a_few_rows(
    side: np.ndarray, turned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = pairs(tmp_path / "run", capsys, side, upto=AT + 6)
    found = finding(of, "dpo-accuracy-falls")
    assert (found is not None and "turned over" in found["summary"]) == turned
    if turned and found is not None:
        assert found["severity"] == "critical"
        assert found["onset_step"] == AT + 1
        assert not of["verdict"]["decision"].startswith("continue")


@pytest.mark.parametrize(("beta", "small"), [(0.0005, True), (0.1, False), (0.02, False)])
def test_a_margin_far_below_what_answers_gained_tells_a_small_beta(
    beta: float, small: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = pairs(tmp_path / "run", capsys, np.ones(ROWS), beta)
    found = finding(of, "dpo-no-signal-or-saturated")
    assert (found is not None and "beta is about" in found["summary"]) == small
    if found is not None and small:
        assert found["causes"][0]["text"].startswith("Beta is far too small")
