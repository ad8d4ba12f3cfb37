"""A reward of which single rows say little, and one that is no number: the fall that only many rows show, the small one
that they show as well, the dip that is over, and NaN in what is trained on beside a score that is judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write
from tests.unit.rules.asked import asking

ROWS = 400
BATCH = 8


def shares(right: np.ndarray, seed: int = 3) -> np.ndarray:
    """How many of a batch of 8 are right, as a share: from row to row it swings by 0.15."""
    return np.random.default_rng(seed).binomial(BATCH, right) / BATCH


def fallen(to: float, back_at: int = ROWS) -> np.ndarray:
    right = np.full(ROWS, 0.75)
    right[330:back_at] = to
    return right


@pytest.mark.parametrize(
    ("right", "collapsed"),
    [(fallen(0.75), False), (fallen(0.6), False), (fallen(0.1), True), (fallen(0.02), True), (fallen(0.1, 342), False)],
    ids=["level", "a little lower", "lost", "lost to nothing", "a dip that is over"],
)
def test_a_reward_of_small_batches_that_is_lost_has_collapsed(
    right: np.ndarray, collapsed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = learning(ROWS) | {"score": shares(right)}
    with asking("reward-collapse"):
        told = finding(report(write(tmp_path / "run", columns), capsys), "reward-collapse")
    assert (told is not None) == collapsed
    if told is not None:
        assert abs(told["onset_step"] - 331) <= 8


@pytest.mark.parametrize(("every", "told"), [(3, True), (100, False)])
def test_rewards_that_are_no_number_are_told_beside_a_score_that_is(
    every: int, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reward = wave(0.5, 0.05, ROWS, 8)
    reward[ROWS - 100 + every - 1 :: every] = np.nan
    columns = learning(ROWS) | {"critic/rewards/mean": reward}
    with asking("reward-function-fault"):
        found = finding(report(write(tmp_path / "run", columns), capsys), "reward-function-fault")
    assert (found is not None and "no number" in found["summary"] and found["severity"] == "warning") == told


@pytest.mark.parametrize(
    ("failed", "status"),
    [(range(240, 252), "resolved"), (range(360, 400), "active"), (range(200, 400, 4), "active"), ((), None)],
    ids=["for a while", "to the end", "now and then", "never"],
)
def test_a_grader_that_fails_is_told_though_the_score_is_graded_elsewhere(
    failed: range, status: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reward = wave(0.6, 0.03, ROWS, 9)
    reward[list(failed)] = 0.0
    with asking("reward-function-fault"):
        of = report(write(tmp_path / "run", learning(ROWS) | {"critic/rewards/mean": reward}), capsys)
    told = next((f for f in of["findings"] if f["id"] == "reward-function-fault"), None)
    assert (None if told is None else told["status"]) == status
    if told is not None:
        assert told["evidence"][0]["metric"] == "reward_mean"


LEARNT = 0.02 + 0.45 * np.clip((np.arange(ROWS) - 150) / 150, 0, 1)


@pytest.mark.parametrize(
    ("right", "noise"), [(LEARNT, 0.0), (np.full(ROWS, 0.3), 1.2)], ids=["learnt", "noise is added"]
)
def test_a_share_that_comes_from_next_to_nothing_is_no_noisier_than_shares_are(
    right: np.ndarray, noise: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mean of 16 answers of which half are right swings by 0.13, and by 0.03 if hardly any is."""
    score = np.random.default_rng(4).binomial(16, right) / 16
    score = score + noise * wave(0.0, 1.0, ROWS, 5) * (np.arange(ROWS) > 250)
    with asking("reward-noise-dominates"):
        said = report(write(tmp_path / "run", learning(ROWS) | {"score": score}), capsys)
    told = finding(said, "reward-noise-dominates")
    assert (told is not None and told["severity"] == "warning") == (noise > 0)
