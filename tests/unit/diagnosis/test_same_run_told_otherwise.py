"""What a run is told to be does not hang on its scale, on how often it is logged, or on noise that wanders."""

from __future__ import annotations

import numpy as np

from rltui.diagnosis.engine import Engine
from rltui.evidence.metric import alone
from rltui.evidence.model import Diagnosis
from rltui.run.table import Series
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import noise


def judged(columns: dict[str, np.ndarray], every: int = 1, planned: int | None = None) -> Diagnosis:
    rows = len(columns["score_mean"])
    return Engine().advance(FakeRun(columns, steps=range(every, rows * every + 1, every), planned=planned).grow())


def loud(d: Diagnosis) -> set[str]:
    return {f.id for f in d.findings if f.status == "active" and f.severity != "info"}


def test_a_level_that_wanders_for_longer_than_a_row_has_seldom_fallen() -> None:
    """By the noise from row to row alone every third look say that it has."""
    fallen = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        reward = 0.4 + 0.05 * noise(rng, 1500) + 0.03 * np.repeat(noise(rng, 30), 50)
        for n in range(1000, 1500, 50):
            at = np.arange(n)
            fall = alone("score_mean", Series("reward", at, reward[:n], at, np.full(n, np.nan))).since_peak
            fallen.append(fall is not None and fall.direction < 0)
    assert np.mean(fallen) < 0.15


def test_a_reward_that_stands_at_its_lowest_value_is_at_its_floor_wherever_that_lies() -> None:
    rng = np.random.default_rng(5)
    reward = np.where(np.arange(150) < 60, 0.5 + 0.05 * noise(rng, 150), 0.0)
    for by in (0.0, 1.0, 7.0):
        assert "reward-floor" in loud(judged({"score_mean": reward + by}))


def test_a_small_reward_is_not_at_its_floor_as_long_as_it_is_paid() -> None:
    """A mean that never was above 0.01: a tenth of it is no 0 of a scale up to 1."""
    rng = np.random.default_rng(6)
    share = np.where(np.arange(200) < 120, 1.0, 0.12) * (1 + 0.1 * noise(rng, 200))
    assert "reward-floor" not in loud(judged({"score_mean": 0.009 * share}))
    assert "reward-floor" in loud(judged({"score_mean": np.where(np.arange(200) < 120, 0.009 * share, 0.0)}))


def test_14_steps_logged_every_second_are_no_fewer_than_14_rows() -> None:
    rng = np.random.default_rng(7)
    reward = 0.3 + 0.02 * np.arange(14) + 0.01 * noise(rng, 14)
    every = judged({"score_mean": reward})
    second = judged({"score_mean": reward[1::2]}, every=2)
    assert second.verdict.decision == every.verdict.decision != "not-enough-evidence"
    assert judged({"score_mean": reward[:4]}, every=10).verdict.decision == "not-enough-evidence"


def test_a_rise_of_the_kl_that_moves_nothing_is_no_drift() -> None:
    """Of a long run a trend test sees 5 %; a half more in as many rows is a drift."""
    rng = np.random.default_rng(8)
    at = np.arange(1500) / 1500
    reward = np.interp(at, [0, 0.3], [0.3, 0.7]) + 0.03 * noise(rng, 1500)
    for times, drifts in ((1.05, False), (2.0, True)):
        kl = 0.2 * np.interp(at, [0, 0.3, 1], [0.01, 1, times]) * (1 + 0.003 * noise(rng, 1500))
        d = judged({"score_mean": reward, "kl_ref": kl})
        assert ("kl-up-reward-flat" in loud(d)) == drifts
