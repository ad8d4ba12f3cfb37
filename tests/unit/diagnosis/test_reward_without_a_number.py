"""A reward function that gives no number any more: the trainer goes on with gradients of 0, and that is why."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.unit.reported import told

CAUSE = "The reward is no number any more"
ROWS, AT = 240, 150


def written(folder: Path, late: object) -> Path:
    """`late`: the reward from row `AT` on, None for a key that is left out."""
    draw, lines = random.Random(2), []
    for n in range(1, ROWS + 1):
        gone = n >= AT
        row = {
            "step": n,
            "loss": 0.0 if gone else draw.gauss(0, 0.02),
            "grad_norm": 0.0 if gone else 0.4 + draw.gauss(0, 0.04),
            "entropy": 0.6 + draw.gauss(0, 0.01),
            "reward": late if gone else 0.3 + 0.001 * n + draw.gauss(0, 0.02),
            "completions/mean_length": 200 + draw.gauss(0, 4),
            "learning_rate": 1e-6,
        }
        lines.append({key: value for key, value in row.items() if value is not None})
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.mark.parametrize("late", [None, float("nan")])
def test_it_leads(tmp_path: Path, late: object) -> None:
    report = told(written(tmp_path / "run", late))[2]
    found = next(f for f in report["findings"] if f["id"] == "no-learning-signal")
    assert found["causes"][0]["text"].startswith(CAUSE)
    assert found["causes"][0]["status"] == "supported"
    assert "reward function" in found["fixes"][0]["text"]


def test_a_reward_that_is_a_number_is_not_blamed(tmp_path: Path) -> None:
    report = told(written(tmp_path / "run", 0.45))[2]
    found = next(f for f in report["findings"] if f["id"] == "no-learning-signal")
    assert {c["text"]: c["status"] for c in found["causes"]}[
        f"{CAUSE}, so that nothing can be compared"
    ] == "contradicted"
