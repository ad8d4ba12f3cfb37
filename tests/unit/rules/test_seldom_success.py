"""A success now and then among hundreds of failures is no end of a reward at its floor, and no new beginning of it."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.evidence.model import Finding
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run
from tests.unit.rules.asked import near

N = 240


def floor(score: np.ndarray, rows: int = N) -> list[Finding]:
    columns = {
        **learning_run(0, N),
        "score_mean": score,
        "score_max": np.where(score > 0, 1.0, 0.0),
        "score_min": 0 * score,
    }
    columns.pop("reward_mean", None)
    run = FakeRun({name: column[:rows] for name, column in columns.items()})
    return [f for f in near("reward-floor").advance(run.grow()).findings if f.id == "reward-floor"]


def seldom(share: float, seed: int) -> np.ndarray:
    """Of 512 answers a row, all fail in most rows and one or two succeed in this share of them."""
    draw = np.random.default_rng(seed)
    return np.where(draw.random(N) < share, draw.integers(1, 3, N) / 512, 0.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rows", [90, 150, N])
def test_it_began_with_the_run(rows: int, seed: int) -> None:
    (found,) = floor(seldom(0.03, seed), rows)
    assert found.status == "active"
    assert found.onset_step == 1
    assert len(found.episodes) == 1


def test_the_sentence_tells_the_successes() -> None:
    score = np.zeros(N)
    score[[60, 130]] = 1 / 512
    (found,) = floor(score)
    assert "in 238 of 240 rows" in found.summary
    assert "not one success" not in found.summary


def test_a_newest_success_alone_does_not_end_it() -> None:
    score = np.zeros(N)
    score[-1] = 1 / 512
    (found,) = floor(score)
    assert found.status == "active"


def test_what_succeeds_again_and_again_ends_it() -> None:
    score = np.zeros(N)
    score[-30:] = 0.2
    assert all(f.status == "resolved" for f in floor(score))


def test_of_a_reward_that_was_earned_it_begins_with_the_fall() -> None:
    score = learning_run(0, N)["score_mean"].copy()
    score[150:170] *= np.linspace(1, 0.05, 20)  # no outage, which comes at once
    score[170:] = 0.0
    score[210] = 1 / 512
    (found,) = floor(score)
    assert 165 <= found.onset_step <= 175


def test_successes_that_come_more_often_are_no_floor() -> None:
    draw = np.random.default_rng(1)
    score = np.where(draw.random(N) < np.linspace(0.05, 0.9, N), 0.05, 0.0)
    assert all(f.status == "resolved" for f in floor(score))
