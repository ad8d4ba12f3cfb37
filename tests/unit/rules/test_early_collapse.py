"""A run that breaks in its first updates has lost what it began with, though it never had a peak: it is told, and as
critical if it stays at the bottom. A start that only looks high, or a dip that heals, is not."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.unit.reported import told

LOUD = ("pause-and-fix", "stop-use-best", "abort-now")


def written(folder: Path, rows: list[float], seed: int) -> Path:
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "step": step,
            "critic/score/mean": score,
            "actor/grad_norm": 0.4 + rng.gauss(0, 0.05),
            "actor/entropy": 0.6 + rng.gauss(0, 0.01),
            "response_length/mean": 300 + rng.gauss(0, 6),
        }
        for step, score in enumerate(rows, 1)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def collapse(run: Path) -> tuple[dict[str, Any] | None, str]:
    report = told(run)[2]
    found = [f for f in report["findings"] if f["id"] == "reward-collapse" and f["status"] == "active"]
    return (found[0] if found else None), report["verdict"]["decision"]


@pytest.mark.parametrize("low", [0.015, 0.1])
@pytest.mark.parametrize("broke", [6, 10, 14, 20])
def test_a_break_in_the_first_updates(tmp_path: Path, broke: int, low: float) -> None:
    rng = random.Random(broke)
    rows = [0.35 + rng.gauss(0, 0.04) for _ in range(broke)]
    rows += [max(0.0, low + rng.gauss(0, 0.012)) for _ in range(180)]
    found, decision = collapse(written(tmp_path / "run", rows, 1))
    assert found is not None
    assert found["severity"] == "critical"
    assert abs(found["onset_step"] - broke) <= 4
    assert decision in LOUD


@pytest.mark.parametrize("carry", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("seed", range(3))
def test_a_level_that_wanders_has_not_collapsed(tmp_path: Path, carry: float, seed: int) -> None:
    rng, at, rows = random.Random(seed), 0.0, []
    for _ in range(150):
        at = carry * at + rng.gauss(0, 0.05 * (1 - carry * carry) ** 0.5)
        rows.append(0.35 + at)
    assert collapse(written(tmp_path / "run", rows, seed))[0] is None


@pytest.mark.parametrize("seed", range(3))
def test_a_dip_at_the_start_that_heals_is_over(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    level = [0.35] * 12 + [0.12] * 12 + [0.3 + 0.3 * i / 130 for i in range(130)]
    found, decision = collapse(written(tmp_path / "run", [max(0.0, x + rng.gauss(0, 0.03)) for x in level], seed))
    assert found is None
    assert decision not in LOUD


@pytest.mark.parametrize("seed", range(3))
def test_a_few_lucky_batches_at_the_start_are_no_peak(tmp_path: Path, seed: int) -> None:
    """Small batches: the first happen to be good."""
    rng = random.Random(seed)
    rows = [sum(rng.random() < 0.2 for _ in range(16)) / 16 for _ in range(160)]
    rows[:3] = [0.375, 0.3125, 0.4375]
    assert collapse(written(tmp_path / "run", rows, seed))[0] is None
