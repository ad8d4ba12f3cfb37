"""Few evaluations that surely fall are not called flat, and one that failed draws no level."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rltui.evidence.evaluations import without_lone
from rltui.evidence.parting import goes
from tests.unit.reported import told


def written(folder: Path, seed: int, held_out: Sequence[float], reward: Sequence[float], every: int) -> Path:
    """`reward`: of the steps of each evaluation."""
    rng, lines = random.Random(seed), []
    for step in range(1, every * len(held_out) + 1):
        row = {"step": step, "critic/score/mean": reward[(step - 1) // every] + rng.gauss(0, 0.015)}
        row["actor/kl_loss"] = 0.02 + rng.gauss(0, 0.001)
        if step % every == 0:
            row["val-core/gsm8k/acc/mean@1"] = held_out[step // every - 1]
        lines.append(json.dumps(row))
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def course(text: str) -> str:
    found = re.search(r"KL, reward and validation: KL [^,:]+, reward [^,:]+, validation ([^,:]+)", text)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("held_out", [(0.61, 0.6, 0.62, 0.31, 0.29, 0.3), (0.5, 0.49, 0.5, 0.4, 0.2, 0.18, 0.19)])
def test_a_fall_of_few_evaluations_is_no_flat_validation(tmp_path: Path, held_out: Sequence[float]) -> None:
    assert course(told(written(tmp_path, 1, held_out, held_out, 30))[1]) == "down"


def test_few_evaluations_that_jump_go_nowhere() -> None:
    rng = np.random.default_rng(3)
    told_of = sum(goes(rng.standard_normal(n)) != 0 for n in (5, 6, 7, 8, 9) for _ in range(100))
    assert told_of <= 12


@pytest.mark.parametrize("failed", [0.0, 0.02])
@pytest.mark.parametrize("seed", range(3))
def test_an_evaluation_that_failed_draws_no_level(tmp_path: Path, seed: int, failed: float) -> None:
    rng = random.Random(40 + seed)
    held_out = [0.35 + 0.02 * i + rng.gauss(0, 0.008) for i in range(12)]
    true = held_out[9]
    held_out[10] = failed
    text = told(written(tmp_path, seed, held_out, [0.3 + 0.02 * i for i in range(12)], 20))[0]
    shown = re.search(r"Validation (?:rose )?\S+ → ([\d.]+\d)", text)
    assert shown is not None
    assert float(shown[1]) > true - 0.05


def test_only_a_lone_evaluation_is_left_out() -> None:
    level = 0.5 + 0.01 * np.random.default_rng(2).standard_normal(12)
    fallen, lone = level.copy(), level.copy()
    fallen[7:] = 0.1
    lone[7] = 0.0
    assert np.array_equal(without_lone(level), level)
    assert np.array_equal(without_lone(fallen), fallen)
    assert abs(without_lone(lone)[7] - 0.5) < 0.05
    assert lone[7] == 0.0
