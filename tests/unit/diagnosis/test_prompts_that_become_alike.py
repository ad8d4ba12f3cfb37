"""A part of the grades becomes random while the run still learns: prompts no longer differ, and nothing else moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import learning, write
from tests.unit.reported import told

ROWS, AT, GROUPS, SIZE = 160, 70, 16, 8


def _groups(noisy: bool, ddof: int) -> dict[str, np.ndarray]:
    """Mean and spread of groups whose prompts are of unlike difficulty and are learnt; from row `AT` on a third of the
    grades are turned, or not."""
    draw = np.random.default_rng(8)
    means, spreads = [], []
    for row in range(ROWS):
        gained = 1.2 * (1 - np.exp(-row / 60))
        pass_rate = 1 / (1 + np.exp(-(draw.normal(-0.8, 1.3, GROUPS) + gained)))
        right = draw.random((GROUPS, SIZE)) < pass_rate[:, None]
        turned = (draw.random((GROUPS, SIZE)) < 0.35) & (noisy and row >= AT)
        reward = (right ^ turned).astype(float)
        means.append(reward.mean())
        spreads.append(reward.std(1, ddof=ddof).mean())
    return {"score": np.array(means), "reward_std": np.array(spreads)}


def _told(folder: Path, noisy: bool, ddof: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    page = told(write(folder / "run", learning(ROWS) | _groups(noisy, ddof)))[2]
    found = (f for f in page["findings"] if f["id"] == "reward-noise-dominates" and f["status"] == "active")
    return page, next(found, None)


@pytest.mark.parametrize("ddof", [0, 1])
def test_grades_that_became_random_are_seen(ddof: int, tmp_path: Path) -> None:
    page, found = _told(tmp_path, True, ddof)
    assert found is not None
    assert found["severity"] == "warning"
    assert abs(found["onset_step"] - AT) <= 15
    assert found["causes"][0]["text"].startswith("A part of the grades became random")
    assert page["verdict"]["decision"] == "continue-watch"


@pytest.mark.parametrize("ddof", [0, 1])
def test_prompts_that_stay_unlike_are_let_be(ddof: int, tmp_path: Path) -> None:
    page, found = _told(tmp_path, False, ddof)
    assert found is None or found["severity"] == "info"
    assert page["verdict"]["decision"] == "continue"
