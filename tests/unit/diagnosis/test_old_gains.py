"""What a gain excuses ends with the gain: what was learnt long ago pays for nothing now."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.draws import some
from tests.unit.diagnosis.written import finding, learning, wave, write
from tests.unit.reported import told

ROWS = 320


def ended_early(last: int, seed: int = 0) -> np.ndarray:
    """A score that rises until a row and stays there."""
    return 0.25 + 0.2 * np.minimum(1.0, np.arange(ROWS) / last) + wave(0.0, 0.02, ROWS, seed)


def collapsing(score: np.ndarray, seed: int = 0) -> dict[str, np.ndarray]:
    """Entropy that falls to a few percent of its start in the first third, and a score beside it."""
    fall = 0.6 * np.exp(-np.arange(ROWS) / 40) + 0.03
    return learning(ROWS) | {"score": score, "entropy": fall * (1 + wave(0.0, 0.03, ROWS, seed))}


@pytest.mark.parametrize("seed", some([0, 1, 2]))
def test_entropy_that_is_used_up_is_a_fault_once_nothing_is_gained_any_more(tmp_path: Path, seed: int) -> None:
    page, _, said = told(write(tmp_path / "run", collapsing(ended_early(120, seed), seed)))
    found = finding(said, "entropy-collapse")
    assert found is not None
    assert found["severity"] == "warning"
    assert "entropy-collapse" in said["verdict"]["because"]
    assert "All clear" not in page
    assert "and shows no gain in the newest half of the run" in said["verdict"]["text"]


def test_entropy_that_falls_while_the_score_still_rises_is_learning(tmp_path: Path) -> None:
    page, _, said = told(write(tmp_path / "run", collapsing(0.25 + 0.4 * np.arange(ROWS) / ROWS + wave(0, 0.02, ROWS))))
    assert said["verdict"]["decision"] == "continue"
    assert "All clear" in page


CRITIC = {"critic/vf_explained_var": 0.01, "critic/vf_loss": 0.4}


def with_critic(score: np.ndarray, explained: float) -> dict[str, np.ndarray]:
    """A run with a critic that explains so much."""
    return learning(ROWS) | {
        "score": score,
        "critic/vf_explained_var": wave(explained, 0.02, ROWS, 4),
        "critic/vf_loss": wave(0.4, 0.02, ROWS, 5),
    }


def test_a_critic_that_predicts_nothing_is_a_fault_once_nothing_is_gained_any_more(tmp_path: Path) -> None:
    said = told(write(tmp_path / "run", with_critic(ended_early(100), -0.05)))[2]
    found = finding(said, "critic-uninformative")
    assert found is not None
    assert found["severity"] == "warning"


def test_a_critic_that_predicts_nothing_is_a_note_while_the_score_rises(tmp_path: Path) -> None:
    rising = 0.25 + 0.4 * np.arange(ROWS) / ROWS + wave(0, 0.02, ROWS)
    said = told(write(tmp_path / "run", with_critic(rising, -0.05)))[2]
    found = finding(said, "critic-uninformative")
    assert found is not None
    assert found["severity"] == "info"
