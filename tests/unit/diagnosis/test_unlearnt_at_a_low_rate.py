"""A reward that is seldom earned and becomes rarer is unlearnt; one that is seldom earned all along is too hard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.reported import told

ROWS = 200


def _first(folder: Path, share: np.ndarray) -> dict[str, Any]:
    draw = np.random.default_rng(4)
    prompts = draw.gamma(0.1, size=(ROWS, 16))  # few of them are solved at all
    each = np.minimum(0.9, prompts * share[:, None] / 0.1)
    columns = learning(ROWS) | {
        "score": draw.binomial(8, each).mean(1) / 8,
        "score_min": np.zeros(ROWS),
        "score_max": np.ones(ROWS),
        "kl": np.linspace(0.0, 0.02, ROWS),
        "entropy": np.linspace(1.0, 0.97, ROWS) + wave(0, 0.01, ROWS, 2),
        "lr": np.full(ROWS, 1e-6),
    }
    page = told(write(folder / "run", columns))[2]
    assert page["verdict"]["decision"] in ("continue-watch", "stop-use-best")
    return next(f for f in page["findings"] if f["severity"] != "info" and f["status"] == "active")


@pytest.mark.parametrize("end", [0.006, 0.012])
def test_what_was_right_becomes_rarer(end: float, tmp_path: Path) -> None:
    found = _first(tmp_path, np.linspace(0.05, end, ROWS))
    assert found["id"] in ("reward-flat-from-start", "reward-peak-decline", "reward-collapse")
    assert "wrong sign" in found["causes"][0]["text"]
    assert found["causes"][0]["status"] == "supported"


def test_what_is_seldom_right_all_along(tmp_path: Path) -> None:
    found = _first(tmp_path, np.full(ROWS, 0.02))
    assert "fallen" not in found["summary"]
    assert "too hard" in found["causes"][0]["text"]
