"""The same course of a reward in another unit says the same: a maximum of 1 is no more than assumed."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.evidence.model import Diagnosis, Finding
from tests.draws import some
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.rules.asked import near

ROWS = 260
SCALES = (0.1, 1.0, 10.0)


def solved(scale: float, seed: int) -> dict[str, object]:
    """A task that is learnt within 100 rows; from then on most groups agree, as all their answers are right."""
    rng, t = np.random.default_rng(seed), np.arange(ROWS)
    share = 0.2 + 0.79 * np.minimum(t / 100, 1.0)
    right = rng.binomial(64, share) / 64
    return {
        "score_mean": scale * right,
        "reward_component_mean:accuracy": scale * right,
        "reward_std": scale * np.sqrt(share * (1 - share)),
        "frac_reward_zero_std": np.clip(share**8 + 0.02 * rng.standard_normal(ROWS), 0, 1),
        "entropy": 0.6 + 0.01 * rng.standard_normal(ROWS),
        "kl_ref": 0.01 + 0.0001 * t,
        "grad_norm": 0.5 + 0.02 * rng.standard_normal(ROWS),
    }


def growing(scale: float, seed: int) -> dict[str, object]:
    """A hard task of which twice as much is right at the end."""
    rng, t = np.random.default_rng(seed), np.arange(ROWS)
    return {
        "score_mean": scale * (0.2 + 0.2 * t / ROWS + 0.02 * rng.standard_normal(ROWS)),
        "entropy": 0.6 + 0.01 * rng.standard_normal(ROWS),
        "kl_ref": 0.01 + 0.0002 * t,
        "grad_norm": 0.5 + 0.02 * rng.standard_normal(ROWS),
    }


def loud(d: Diagnosis) -> set[str]:
    return {f.id for f in d.findings if f.status == "active" and f.severity != "info"}


def told(d: Diagnosis, rule: str) -> Finding | None:
    return next((f for f in d.findings if f.id == rule and f.status == "active"), None)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_solved_is_no_lack_of_signal_in_any_unit(seed: int) -> None:
    for scale in SCALES:
        found = near("zero-variance-groups").advance(FakeRun(solved(scale, seed)).grow())
        assert "zero-variance-groups" not in loud(found), scale


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_reward_that_doubled_has_gained_in_any_unit(seed: int) -> None:
    said = {scale: Engine().advance(FakeRun(growing(scale, seed)).grow()) for scale in SCALES}
    assert all(told(d, "reward-flat-from-start") is None for d in said.values())
    assert len({d.verdict.decision for d in said.values()}) == 1


@pytest.mark.parametrize("seed", some([1, 2]))
def test_a_small_part_of_a_large_reward_is_still_next_to_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = growing(1.0, seed)
    columns["score_mean"] = 0.4 + 0.02 * np.arange(ROWS) / ROWS + 0.01 * rng.standard_normal(ROWS)
    found = told(near("reward-flat-from-start").advance(FakeRun(columns).grow()), "reward-flat-from-start")
    assert found is not None
    assert "next to nothing" in found.summary


@pytest.mark.parametrize("seed", [1, 2])
def test_a_reward_of_unknown_bounds_that_stays_at_its_best_is_saturated(seed: int) -> None:
    columns = solved(1.0, seed)
    columns["score_mean"] = 3.0 + 2.0 * np.asarray(columns["score_mean"]) + 1e-3 * np.arange(ROWS) / ROWS
    columns.pop("reward_component_mean:accuracy")
    assert "reward-saturated" in loud(near("reward-saturated").advance(FakeRun(columns).grow()))
    columns["frac_reward_zero_std"] = np.full(ROWS, 0.1)  # the groups still differ: there is more to learn
    assert "reward-saturated" not in loud(near("reward-saturated").advance(FakeRun(columns).grow()))
