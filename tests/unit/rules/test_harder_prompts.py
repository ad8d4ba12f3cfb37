"""A train reward that falls at once because the prompts became harder, while validation goes on rising: worth a look,
no reason to stop, and nothing of what is learnt since is thrown away."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.draws import some
from tests.unit.reported import told


def written(folder: Path, seed: int, gain: float) -> Path:
    """A run whose reward falls from 0.44 to 0.16 at step 110; validation goes by `gain` from there to step 220."""
    rng, rows = np.random.default_rng(seed), []
    for n in range(1, 221):
        share = 0.28 + 0.16 * n / 110 if n < 110 else 0.14 + 0.0004 * (n - 110)
        row = {"step": n, "reward": rng.binomial(256, share) / 256, "kl": 0.0007 * n, "entropy": 0.8 - 0.001 * n}
        row |= {"grad_norm": 0.4 + 0.03 * rng.standard_normal(), "response_length": 500 + 9 * rng.standard_normal()}
        if n % 20 == 0:
            true = 0.30 + 0.13 * min(n, 110) / 110 + gain * max(0, n - 110) / 110
            row["val/gsm8k/acc"] = round(float(rng.binomial(500, true)) / 500, 4)
        rows.append(row)
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize("seed", some(range(6), 2))
def test_validation_that_rises_meanwhile_goes_before(seed: int, tmp_path: Path) -> None:
    report = told(written(tmp_path, seed, 0.15))[2]
    assert report["verdict"]["decision"] in ("continue", "continue-watch"), report["answer"]["what"]
    assert report["verdict"]["best_checkpoint"]["step"] >= 160
    assert "floor" not in report["answer"]["what"]


@pytest.mark.parametrize("seed", range(3))
def test_validation_that_falls_with_it_does_not(seed: int, tmp_path: Path) -> None:
    report = told(written(tmp_path, seed, -0.25))[2]
    assert report["verdict"]["decision"] not in ("continue", "continue-watch"), report["answer"]["what"]
    assert report["verdict"]["best_checkpoint"]["step"] <= 140
