"""A gain that few rows show pays for what a long run's gain pays for: a short training that learnt at once, and one
that is logged every twentieth step, are not warned of what their reward paid for."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from tests.unit.reported import told


def written(folder: Path, seed: int, rows: int, gain: float, every: int = 20) -> Path:
    """Answers get short and KL rises as the task is learnt, all at once after a third of the run."""
    draw, lines = random.Random(seed), []
    for n in range(1, rows + 1):
        learnt = 1 / (1 + math.exp(-(n - rows / 3) / (rows / 25)))
        lines.append(
            {
                "step": every * n,
                "reward": 0.5 + gain * learnt + draw.gauss(0, 0.06),
                "completions/mean_length": (380 - 330 * learnt) * draw.lognormvariate(0, 0.05),
                "kl": 0.25 * learnt * draw.lognormvariate(0, 0.1),
                "grad_norm": 0.4 + draw.gauss(0, 0.03),
                "entropy": 0.5 + draw.gauss(0, 0.02),
                "loss": draw.gauss(0, 0.01),
            }
        )
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def loud(run: Path) -> set[str]:
    active = [f for f in told(run)[2]["findings"] if f["status"] == "active" and f["severity"] != "info"]
    return {f["id"] for f in active}


@pytest.mark.parametrize("rows", [15, 20, 30])
@pytest.mark.parametrize("seed", range(3))
def test_what_was_gained_at_once_pays(tmp_path: Path, rows: int, seed: int) -> None:
    assert loud(written(tmp_path / "run", seed, rows, 1.2)) == set()


@pytest.mark.parametrize("rows", [18, 30])
@pytest.mark.parametrize("seed", range(3))
def test_without_a_gain_the_same_is_told(tmp_path: Path, rows: int, seed: int) -> None:
    assert loud(written(tmp_path / "run", seed, rows, 0.0)) & {"length-collapse", "kl-runaway"}
