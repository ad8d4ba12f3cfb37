"""What holds for most runs is a condition of a cause and proves nothing; a setting is told once, as the config has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import ACTOR, CONFIG
from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.reported import told

ROWS = 160


def drifting() -> dict[str, np.ndarray]:
    """KL rises on while the reward, which had gained at first, does not."""
    rows = np.arange(ROWS)
    score = 0.3 + 0.12 * (1 - np.exp(-rows / 12)) + wave(0, 0.012, ROWS, 1)
    return learning(ROWS) | {"score": score, "kl": 0.002 + 0.4 * (rows / ROWS) ** 1.5 + np.abs(wave(0, 0.003, ROWS, 3))}


def test_a_gain_at_first_does_not_prove_that_the_penalty_is_weak(tmp_path: Path) -> None:
    page, _, found = told(write(tmp_path / "run", drifting()))
    assert "kl-up-reward-flat" in found["verdict"]["because"]
    assert "Proof: reward" not in found["answer"]["why"] and "Proof: score" not in found["answer"]["why"]
    assert "✓ KL penalty too weak" not in page


def test_a_weak_penalty_of_the_config_is_proof_and_is_raised_to_one_that_acts(tmp_path: Path) -> None:
    page, _, found = told(verl(tmp_path / "run", drifting(), dict(CONFIG) | {f"{ACTOR}.kl_loss_coef": 1e-5}))
    assert "kl_loss_coef = 1e-5 (below" in found["answer"]["why"]
    assert "0.00001" not in page
    assert "kl_loss_coef: 1e-5 → 0.001" in page
    assert found["answer"]["why"].count("kl_loss_coef") == 1
