"""Batches of one or two groups: the share of groups without spread is 0, a half or 1 each time, and the gradient is 0
with it. What such batches of a healthy run happen to hold is no fault; a run whose groups are dead is."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from tests.unit.reported import told
from tests.unit.rules.asked import asking

SAMPLES, ROWS = 8, 200
OF_GROUPS = ("zero-variance-groups", "no-learning-signal")


def written(folder: Path, seed: int, groups: int, dead_from: int = ROWS) -> Path:
    """Prompts of all pass rates. From row `dead_from` on nine of ten are never or always solved."""
    draw, lines = random.Random(seed), []
    for step in range(1, ROWS + 1):
        dead = step >= dead_from
        rate = 0.4 + 0.35 * (1 - math.exp(-min(step, dead_from) / 80))
        right = []
        for _ in range(groups):
            chance = min(0.97, max(0.03, draw.betavariate(2 * rate, 2 * (1 - rate))))
            if dead and draw.random() < 0.92:
                chance = float(draw.random() < rate)
            right.append(sum(draw.random() < chance for _ in range(SAMPLES)))
        share = sum(k in (0, SAMPLES) for k in right) / groups
        lines.append(
            {
                "step": step,
                "reward": sum(right) / groups / SAMPLES,
                "frac_reward_zero_std": share,
                "grad_norm": 0.0 if share == 1 else 0.4 * math.sqrt(1 - share) * draw.lognormvariate(0, 0.2),
                "entropy": 0.6 - 0.001 * step + draw.gauss(0, 0.02),
                "loss": draw.gauss(0, 0.01),
                "learning_rate": 1e-6,
            }
        )
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def loud(run: Path) -> list[str]:
    with asking(*OF_GROUPS):
        _, _, report = told(run)
    active = [f for f in report["findings"] if f["status"] == "active" and f["severity"] != "info"]
    return [f["id"] for f in active if f["id"] in OF_GROUPS]


@pytest.mark.long
@pytest.mark.parametrize("groups", [1, 2])
def test_a_healthy_run_is_quiet(tmp_path: Path, groups: int) -> None:
    found = [loud(written(tmp_path / str(seed), seed, groups)) for seed in range(6)]
    assert sum(map(bool, found)) == 0, found


@pytest.mark.parametrize("groups", [1, 2, 8])
def test_groups_that_died_are_told(tmp_path: Path, groups: int) -> None:
    found = [loud(written(tmp_path / str(seed), seed, groups, dead_from=80)) for seed in range(2)]
    assert all(found), found
