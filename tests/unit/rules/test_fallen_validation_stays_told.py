"""Validation that was told to have fallen is told so until it is back: neither more evaluations at the low level, which
change what is known of their noise, nor a reward that stops rising end the finding."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.reported import told_at
from tests.unit.rules.asked import asking

STEPS, EVERY, TURN = 600, 25, 200
Way = Callable[[int], float]


def falls(step: int) -> float:
    """Up to 0.4, and down to 0.25, where it stays."""
    return 0.3 + 0.1 * min(step, TURN) / TURN - 0.15 * min(1.0, max(0, step - TURN) / 50)


def heals(step: int) -> float:
    return falls(step) if step < 400 else 0.42


def written(folder: Path, seed: int, validation: Way, noise: float) -> Path:
    rng, rows = random.Random(seed), []
    for step in range(1, STEPS + 1):
        row = {
            "step": step,
            "critic/score/mean": min(0.95, 0.5 + 0.45 * step / 300) + rng.gauss(0, 0.02),
            "actor/grad_norm": 0.4 + rng.gauss(0, 0.05),
            "actor/entropy": 0.6 - 0.1 * step / STEPS + rng.gauss(0, 0.01),
        }
        if step % EVERY == 0:
            row["val-core/gsm8k/acc/mean@1"] = validation(step) + rng.gauss(0, noise)
        rows.append(row)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def states(run: Path, first: int) -> list[str | None]:
    """How the finding stands at each evaluation from step `first` on; None where it was never told."""
    out: list[str | None] = []
    with asking("val-regression"):
        reports = list(told_at(run, range(first, STEPS + 1, 3 * EVERY)))
    for _, _, report in reports:
        found = [f for f in report["findings"] if f["id"] == "val-regression"]
        out.append(found[0]["status"] if found else None)
    return out


@pytest.mark.parametrize(("seed", "noise"), [(0, 0.02), (2, 0.04), (3, 0.04), (4, 0.04)])
def test_it_stays_told_at_the_low_level(tmp_path: Path, seed: int, noise: float) -> None:
    seen = states(written(tmp_path / "run", seed, falls, noise), 300)
    told = [one for one in seen if one is not None]
    assert set(told) <= {"active"}, seen
    assert noise > 0.02 or told


@pytest.mark.parametrize("seed", range(2))
def test_it_ends_once_validation_is_back(tmp_path: Path, seed: int) -> None:
    seen = states(written(tmp_path / "run", seed, heals, 0.02), 350)
    assert "active" in seen
    assert seen[-1] == "resolved"
