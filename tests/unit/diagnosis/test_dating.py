"""Onsets: a loud finding is dated where its damage began, a notice where it was first to be seen."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.evidence.model import Diagnosis
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import noise

N, FLIP = 320, 200


def flipped(seed: int = 0) -> dict[str, np.ndarray]:
    """Learns, with entropy and KL moving as they do then; at `FLIP` the reward turns against the policy."""
    rng = np.random.default_rng(seed)
    t = np.arange(N)
    after = np.clip((t - FLIP) / 8, 0, 1)
    learnt = np.minimum(1.0, t / 60)
    return {
        "score_mean": np.clip((0.3 + 0.5 * learnt + 0.03 * noise(rng, N)) * (1 - after), 0, 1),
        "kl_ref": (0.01 + 0.25 * learnt) * np.exp(0.1 * noise(rng, N)) * (1 - after) + 8 * after,
        "entropy": (1.2 - 0.5 * learnt + 0.02 * noise(rng, N)) * (1 - after) + 0.1 * after,
        "response_length_mean": (200 - 60 * learnt + 3 * noise(rng, N)) * (1 - after) + 5 * after,
    }


def diagnose(columns: dict[str, np.ndarray], rows: int | None = None) -> Diagnosis:
    return Engine().advance(FakeRun(columns).grow(rows))


def test_loud_findings_are_dated_at_the_damage() -> None:
    loud = [f for f in diagnose(flipped()).findings if f.severity != "info"]
    assert {"kl-runaway", "entropy-collapse", "reward-collapse", "length-collapse"} <= {f.id for f in loud}
    for f in loud:
        assert f.onset_step is not None
        assert FLIP - 5 <= f.onset_step <= FLIP + 25, f.id
        assert f.episodes[-1].onset_step == f.onset_step


def test_the_root_moved_first() -> None:
    findings = [f for f in diagnose(flipped()).findings if f.severity != "info"]
    root = next(f for f in findings if f.root is None)
    symptoms = [f for f in findings if f.root == root.id]
    assert len(symptoms) >= 3
    assert min(f.onset_step or 0 for f in symptoms) >= (root.onset_step or 0) - 10


def test_a_notice_is_dated_where_it_began() -> None:
    before = diagnose(flipped(), 190)
    notice = next(f for f in before.findings if f.id == "kl-runaway")
    assert notice.severity == "info"
    assert notice.onset_step is not None
    assert notice.onset_step <= 60


def test_a_slow_drift_is_dated_near_its_beginning() -> None:
    rng = np.random.default_rng(1)
    t = np.arange(600)
    columns = {
        "score_mean": 0.5 + 0.02 * noise(rng, 600),
        "kl_ref": 0.02 + 0.6 * np.clip((t - 300) / 300, 0, 1) + 0.002 * np.abs(noise(rng, 600)),
    }
    drift = next(f for f in diagnose(columns).findings if f.id == "kl-up-reward-flat")
    assert drift.severity != "info"
    assert drift.onset_step is not None
    assert abs(drift.onset_step - 300) <= 40


@pytest.mark.parametrize("every", [1, 2, 5])
@pytest.mark.parametrize("takes", [1, 150, 300])
def test_a_fall_of_the_reward_is_dated_where_it_began_be_it_slow_or_fast(takes: int, every: int) -> None:
    """A slow one has lost a quarter, which no noise hides, long after."""
    n, begins = 750, 400
    t = np.arange(n)
    fallen = np.clip((t - begins + 1) / takes, 0, 1)
    noisy = 0.02 * np.random.default_rng(takes + every).standard_normal(n)
    reward = (0.3 + 0.5 * np.minimum(t / 300, 1.0) - 0.6 * fallen + noisy).reshape(-1, every).mean(axis=1)
    steps = list(range(every, n + 1, every))
    d = Engine().advance(FakeRun({"score_mean": reward}, steps=steps).grow())
    dates = [f.onset_step for f in d.findings if f.id in ("reward-collapse", "reward-peak-decline")]
    assert dates
    for date in dates:
        assert date is not None
        assert abs(date - begins) <= max(0.1 * takes, 5 * every)
