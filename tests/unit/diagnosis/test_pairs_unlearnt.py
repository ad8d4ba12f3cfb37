"""Preference training that gets worse: what it had learnt of the pairs is lost, and nothing but the pairs shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, report, wave, write

ROWS = 240
RULE = "dpo-accuracy-falls"


def pairs(
    folder: Path, capsys: pytest.CaptureFixture[str], lost: float, over: int = 60, pushed: float = 0.0
) -> dict[str, Any]:
    """Accuracy rises to 0.85 and loses so much of it from row 120 on. `pushed`: nats that chosen answers lose then."""
    at = np.arange(ROWS)
    learnt, gone = 1 - np.exp(-at / 30), np.clip((at - 120) / over, 0, 1)
    margin = 2.0 * learnt * (1 - gone * lost / 0.35)
    columns = {
        "rewards/accuracies": np.clip(0.5 + 0.35 * learnt - lost * gone + wave(0, 0.03, ROWS, 1), 0, 1),
        "rewards/margins": margin + wave(0, 0.1, ROWS, 2),
        "logps/chosen": -180 - pushed * gone + wave(0, 1, ROWS, 3),
        "logps/rejected": -200 - 10 * learnt + wave(0, 1, ROWS, 4),
        "loss": np.log1p(np.exp(-margin)) + wave(0, 0.01, ROWS, 5),
        "grad_norm": wave(2, 0.2, ROWS, 6),
        "learning_rate": np.full(ROWS, 5e-7),
    }
    return report(write(folder, columns), capsys)


def test_pairs_that_are_told_apart_no_more_end_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = pairs(tmp_path, capsys, lost=0.35, pushed=30)
    found = finding(said, RULE)
    assert found is not None
    assert found["severity"] == "critical"
    assert 110 <= found["onset_step"] <= 150
    assert found["causes"][0]["text"].startswith("Chosen answers are pushed down")
    assert said["verdict"]["decision"] == "stop-use-best"
    assert said["verdict"]["best_checkpoint"]["step"] <= 150


def test_other_pairs_from_one_step_on_lead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = finding(pairs(tmp_path, capsys, lost=0.3, over=1), RULE)
    assert found is not None
    assert found["causes"][0]["text"].startswith("Other pairs from that step on")


def test_a_sound_run_is_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = pairs(tmp_path, capsys, lost=0.0)
    assert finding(said, RULE) is None
    assert said["verdict"]["decision"] == "continue"
