"""Validation that rises where the train reward does not: the reward is not that of the policy of now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.reported import told

ROWS, SINCE = 200, 80
RISE = 0.2 + 0.6 * (1 - np.exp(-np.arange(ROWS) / 70))


def _page(folder: Path, score: np.ndarray, **more: np.ndarray) -> dict[str, Any]:
    columns = learning(ROWS) | {
        "score": score + wave(0, 0.02, ROWS, 1),
        "score_min": np.zeros(ROWS),
        "score_max": np.ones(ROWS),
        "val": RISE + wave(0, 0.02, ROWS, 12),
        **more,
    }
    return told(write(folder / "run", columns, every={"val": 10}))[2]


def _found(page: dict[str, Any]) -> dict[str, Any] | None:
    found = (f for f in page["findings"] if f["id"] == "train-behind-validation" and f["status"] == "active")
    return next(found, None)


def test_a_sampler_that_keeps_old_weights(tmp_path: Path) -> None:
    stands = np.where(np.arange(ROWS) < SINCE, RISE, RISE[SINCE])
    page = _page(tmp_path, stands, kl=np.linspace(0.001, 0.1, ROWS))
    found = _found(page)
    assert found is not None
    assert found["severity"] == "warning"
    assert 60 <= found["onset_step"] <= 110
    assert page["verdict"]["decision"] == "continue-watch"
    assert found["causes"][0]["text"].startswith("The sampler answers with old weights")
    assert found["causes"][0]["status"] == "supported"


def test_a_grader_that_fails_for_some_answers(tmp_path: Path) -> None:
    page = _page(tmp_path, np.where(np.arange(ROWS) < SINCE, RISE, 0.6 * RISE))
    found = _found(page)
    assert found is not None
    assert 75 <= found["onset_step"] <= 85
    assert found["causes"][0]["text"].startswith("What training is given changed at that step")


@pytest.mark.long
def test_a_train_reward_that_follows_slowly_is_let_be(tmp_path: Path) -> None:
    assert _found(_page(tmp_path / "slower", np.where(np.arange(ROWS) < SINCE, RISE, (RISE + RISE[SINCE]) / 2))) is None
    assert _found(_page(tmp_path / "lower", RISE - 0.1)) is None
    assert _found(_page(tmp_path / "another task", 0.1 * RISE)) is None
