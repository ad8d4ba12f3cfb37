"""Trainers log every fifth or tenth step: a fall in forty rows of two hundred steps is as much a fall as in two hundred
rows, and noise in forty rows is none."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.reported import told

ROWS, EVERY = 40, 5
FALLS = {"reward-collapse", "reward-peak-decline"}


def falls(folder: Path, level: Callable[[int], float], seed: int) -> dict[str, int]:
    """The onsets of the open findings about a reward that fell."""
    draw, lines = random.Random(seed), []
    for row in range(1, ROWS + 1):
        values = {
            "reward": min(1.0, max(0.0, level(row) + draw.gauss(0, 0.06))),
            "entropy": 0.5 + draw.gauss(0, 0.02),
            "grad_norm": 0.4 + draw.gauss(0, 0.03),
            "completions/mean_length": 300 + draw.gauss(0, 10),
        }
        lines.append(json.dumps({"step": EVERY * row} | values))
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    found = [f for f in told(folder)[2]["findings"] if f["status"] == "active" and f["severity"] != "info"]
    return {f["id"]: f["onset_step"] for f in found if f["id"] in FALLS}


@pytest.mark.parametrize("begins", [14, 25, 30])
@pytest.mark.parametrize("seed", range(3))
def test_a_reward_that_breaks_down_is_told(begins: int, seed: int, tmp_path: Path) -> None:
    found = falls(tmp_path / "run", lambda row: 0.85 * min(1.0, max(0.0, 1.0 - (row - begins) / 4)), seed)
    assert "reward-collapse" in found
    assert abs(found["reward-collapse"] - begins * EVERY) <= 5 * EVERY


@pytest.mark.parametrize("seed", range(12))
def test_noise_about_a_level_is_no_fall(seed: int, tmp_path: Path) -> None:
    assert falls(tmp_path / "run", lambda row: 0.7, seed) == {}
