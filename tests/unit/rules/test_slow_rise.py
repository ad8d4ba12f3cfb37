"""A reward that still rises, but slowly, is not told to be level since the time when it became slow."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.evidence.model import Finding
from tests.draws import some
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run
from tests.unit.rules.asked import near

N = 300


def course(slope: float, seed: int) -> np.ndarray:
    """A quick rise over 100 rows, then a slow one over 200."""
    at = np.arange(N)
    rise = 0.3 + 0.25 * np.minimum(at, 100) / 100 + slope * np.maximum(at - 100, 0) / 200
    return rise + np.random.default_rng(seed).normal(0, 0.025, N)


def levels(score: np.ndarray) -> list[Finding]:
    columns = {**learning_run(0, N), "score_mean": score, "reward_mean": score}
    found = near("reward-plateau").advance(FakeRun(columns).grow()).findings
    return [f for f in found if f.id == "reward-plateau" and f.status == "active"]


@pytest.mark.parametrize("seed", some(range(5), 2))
@pytest.mark.parametrize("slope", [0.0, 0.05, 0.08, 0.12])
def test_level_since_a_step_means_no_rise_since_it(slope: float, seed: int) -> None:
    score = course(slope, seed)
    for f in levels(score):
        since = score[f.onset_step - 1 :]
        first, last = since[: len(since) // 3], since[-(len(since) // 3) :]
        error = 0.025 * np.sqrt(1 / len(first) + 1 / len(last))
        assert last.mean() - first.mean() < 4 * error


def test_a_reward_that_rises_no_more_is_level() -> None:
    assert sum(bool(levels(course(0.0, seed))) for seed in range(5)) >= 3
