"""A number that a grader gives every answer by default is no reward, whatever it is; one that answers earn is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rltui.evidence.blocks import BlockCache
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.profile import RunSettings
from rltui.run.table import Floats
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.evidence.test_outages import AT, END, N, columns, rows_out
from tests.unit.reported import told
from tests.unit.rules.asked import only

OUT = (np.arange(N) >= AT) & (np.arange(N) < END)


def defaulting(value: float, **other: Floats) -> dict[str, Floats]:
    """Rows AT to END - 1 hold one number to the last digit, and all answers of a batch got it."""
    data = columns(reward_std=np.where(OUT, 0.0, 0.4), reward_max=np.where(OUT, value, 1.0), **other)
    rng = np.random.default_rng(6)
    reward = 0.3 + 0.4 * np.arange(N) / N + 0.03 * rng.standard_normal(N)
    data["reward_mean"] = np.where(OUT, value, reward)
    return data


@pytest.mark.parametrize("value", [0.1, 0.35, 0.5, 0.55, 0.8, 1.0])
@pytest.mark.parametrize("told_by", ["reward_std", "reward_max"])
def test_a_default_is_an_outage_wherever_it_lies(value: float, told_by: str) -> None:
    data = defaulting(value)
    del data["reward_max" if told_by == "reward_std" else "reward_std"]
    assert rows_out(data, AT + 2) in ([], [(AT, AT + 1, True)]), "two batches may agree by chance"
    assert rows_out(data, AT + 3) == [(AT, AT + 2, True)]
    assert rows_out(data, END) == [(AT, END - 1, True)]
    assert rows_out(data) == [(AT, END - 1, False)]


@pytest.mark.parametrize("told_by", ["reward_std", "reward_max"])
def test_the_highest_reward_may_be_earned_by_all(told_by: str) -> None:
    """What is learnt comes little by little: batches in which some still fail lie before those in which none does."""
    data = defaulting(1.0)
    del data["reward_max" if told_by == "reward_std" else "reward_std"]
    data["reward_mean"][:AT] = np.minimum(0.99, 0.3 + 0.75 * np.arange(AT) / AT)
    assert rows_out(data) == []


def test_a_number_that_the_rising_reward_just_reached_is_a_default() -> None:
    """The KL of a young run grows by a factor meanwhile: that is no other policy."""
    data = defaulting(0.56)
    grown = np.exp(np.clip(np.arange(N) - 90, 0, 60) / 10 + 0.03 * np.random.default_rng(3).standard_normal(N))
    data["kl_ref"] = 1e-3 * grown
    assert rows_out(data) == [(AT, END - 1, False)]


def test_the_highest_reward_is_earned_by_all_from_batch_to_batch_and_not_at_once() -> None:
    at_once, earned = defaulting(1.0), defaulting(1.0)
    assert rows_out(at_once) == [(AT, END - 1, False)]
    near = np.linspace(0.5, 0.97, 40)
    earned["reward_mean"][AT - 40 : AT] = near + 0.02 * np.random.default_rng(8).standard_normal(40)
    earned["reward_mean"][END:], earned["reward_std"][END:] = 1.0, 0.0
    assert rows_out(earned) == []


def test_batches_that_agreed_before_may_agree_again() -> None:
    """One prompt a batch: all of its answers may earn the same part of the reward."""
    data = defaulting(0.5)
    data["reward_std"][[AT - 3, AT - 9]] = 0.0
    data["reward_max"][[AT - 3, AT - 9]] = data["reward_mean"][[AT - 3, AT - 9]]
    assert rows_out(data) == []


def test_a_policy_that_moved_writes_one_answer() -> None:
    data = defaulting(0.5)
    data["response_length_mean"][AT:END] = 4.0
    data["entropy"][AT:END] = 0.01
    assert rows_out(data) == []


def test_a_number_that_varies_is_measured() -> None:
    data = defaulting(0.5)
    data["reward_mean"][AT:END] += np.linspace(0.001, 0.002, END - AT)
    data["reward_max"][AT:END] = 1.0
    assert rows_out(data) == []


@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_is_followed_knows_what_one_read_at_once_knows(seed: int) -> None:
    """Also if past rows are revised, so that batches agree that did not."""
    rng = np.random.default_rng(seed)
    data = defaulting(float(rng.choice([0.2, 0.45, 0.6])))
    del data["reward_max"]
    for begin in rng.integers(20, N, seed):
        data["reward_mean"][begin : begin + 5], data["reward_std"][begin : begin + 5] = 0.4, 0.0
    followed, engine = FakeRun(data), only({"reward-function-fault"})
    for n in np.unique(rng.integers(2, N + 1, 40)).tolist():
        engine.advance(followed.grow(n))
        if rng.random() < 0.2:
            row = int(rng.integers(1, n))
            followed.history.table.put(row + 1, np.nan, {"reward_std": 0.0})
            followed.history.table.set_head(n)
            followed.columns["reward_std"][row] = 0.0
        whole = FakeRun(followed.columns).grow(n)
        fresh = Look(LookFeed(whole, BlockCache(), RunSettings.of(whole)), n, {})
        assert engine.advance(followed).gaps == fresh.gaps, n


def test_it_leads_while_it_lasts_and_is_told_once_it_is_over(tmp_path: Path) -> None:
    rows, first, last = 180, 110, 135
    held = (np.arange(rows) >= first - 1) & (np.arange(rows) < last)
    one = learning(rows)
    high = {
        "score": np.where(held, 0.25, one["score"]),
        "score_max": np.where(held, 0.25, 1.0),
        "score_min": np.where(held, 0.25, 0.0),
        "advantage_max": np.where(held, 0.0, 2.1) + 0.0,
        "advantage_min": np.where(held, 0.0, -2.1),
        "grad": np.where(held, 0.004, one["grad"]) + wave(0, 0.0001, rows, 3),
    }
    whole = one | high
    _, _, during = told(write(tmp_path / "during", {name: x[: first + 18] for name, x in whole.items()}))
    assert during["verdict"]["because"][0] == "reward-function-fault"
    assert "past its peak" not in during["verdict"]["text"]
    page, _, over = told(write(tmp_path / "over", whole))
    assert f"Rewards of steps {first} to {last} are left out" in over["verdict"]["text"]
    assert f"Reward function at fault (steps {first} to {last})" in page
