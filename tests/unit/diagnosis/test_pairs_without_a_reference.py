"""Preference training without a reference model (ORPO, SimPO, CPO): its "rewards" are log-probabilities of the policy
alone. Half of the pairs are no starting point there, as chosen answers may be longer or less likely than rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, report, wave, write

ROWS = 80
SWAPPED = "dpo-no-signal-or-saturated"


def pairs(better: float = 0.0, reference: bool = False, beta: float = 0.1) -> dict[str, np.ndarray]:
    """From the first row on few pairs are right and the margin is below 0; it moves by so much in the course. With a
    reference, rewards are not a multiple of the policy's own log-probabilities."""
    learnt = np.arange(ROWS) / ROWS
    chosen, rejected = -1.9 + 0.5 * learnt + wave(0, 0.05, ROWS, 1), -1.4 + 0.4 * learnt + wave(0, 0.05, ROWS, 2)
    chosen = chosen + better * learnt
    own = [wave(0, 0.02, ROWS, 8 + i) if reference else beta * x for i, x in enumerate((chosen, rejected))]
    if reference:
        own[0] = own[0] - 0.04 - 0.1 * learnt
    right = np.clip(0.25 + 0.05 * better * learnt + wave(0, 0.05, ROWS, 3), 0, 1)
    return {
        "loss": 4.5 - 3.0 * (1 - np.exp(-np.arange(ROWS) / 10)) + wave(0, 0.05, ROWS, 4),
        "rewards/chosen": own[0],
        "rewards/rejected": own[1],
        "rewards/accuracies": np.clip(right - 0.2 * (better < 0) * learnt, 0, 1),
        "rewards/margins": own[0] - own[1],
        "logps/chosen": chosen,
        "logps/rejected": rejected,
        "grad_norm": wave(2, 0.2, ROWS, 5),
        "learning_rate": np.full(ROWS, 5e-6),
    }


def test_few_right_pairs_are_no_swapped_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = report(write(tmp_path, pairs()), capsys)
    assert finding(said, SWAPPED) is None
    assert said["verdict"]["decision"] == "continue"
    assert said["run"]["algorithm"] == "ORPO or SimPO"


def test_names_tell_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log without log-probabilities, by the names of its loss."""
    columns = pairs()
    del columns["logps/chosen"], columns["logps/rejected"]
    columns["log_odds_ratio"] = wave(-0.9, 0.05, ROWS, 6)
    said = report(write(tmp_path, columns), capsys)
    assert finding(said, SWAPPED) is None
    assert said["run"]["algorithm"] == "ORPO"


@pytest.mark.parametrize("better", [-0.9, -1.5])
def test_pairs_that_are_pulled_apart_the_wrong_way_are_told(
    better: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = finding(report(write(tmp_path, pairs(better)), capsys), SWAPPED)
    assert found is not None
    assert found["severity"] == "critical"


def test_beside_a_reference_fewer_than_half_are_swapped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said: dict[str, Any] = report(write(tmp_path, pairs(reference=True)), capsys)
    found = finding(said, SWAPPED)
    assert found is not None
    assert found["severity"] == "critical"
    assert said["run"]["algorithm"] == "DPO"
