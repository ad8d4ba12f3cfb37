"""What changes from one row to the next leads what came of it: a learning rate, the sign of a reward, a grader,
sampling. Near misses stay quiet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import lead
from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.reported import told

ROWS, AT = 240, 150
STEP = np.arange(ROWS)
SINCE = STEP >= AT
SOON = np.clip((STEP - AT - 1) / 5, 0, 1)  # the policy follows within a few updates
GROUPS, SPREAD = "frac_reward_zero_std", "reward_std"


def columns(**other: np.ndarray) -> dict[str, np.ndarray]:
    usual = learning(ROWS)
    usual.pop("kl")
    return usual | {"lr": np.full(ROWS, 1e-6), GROUPS: np.abs(wave(0.2, 0.03, ROWS, 11))} | other


def report(folder: Path, **other: np.ndarray) -> dict[str, Any]:
    return told(write(folder / "run", columns(**other), end=True))[2]


def broken() -> dict[str, np.ndarray]:
    """What a policy that broke logs since: all answers run into the limit and none is right."""
    usual = columns()
    return {
        "score": usual["score"] * (1 - SOON),
        "entropy": usual["entropy"] * (1 + SOON),
        "length": usual["length"] * (1 + 5 * SOON),
        "longest": np.maximum(usual["longest"], usual["length"] * (1 + 5 * SOON)),
        "cut": np.minimum(1.0, usual["cut"] + 0.95 * SOON),
        "grad": usual["grad"] * (1 - SOON),
        GROUPS: np.minimum(1.0, usual[GROUPS] + SOON),
    }


@pytest.mark.parametrize("leap", [20.0, 1.0])
def test_a_learning_rate_that_leapt_leads_what_broke_since(leap: float, tmp_path: Path) -> None:
    found = report(tmp_path, **broken(), lr=np.where(SINCE, leap * 1e-6, 1e-6))
    because = found["verdict"]["because"][0]
    assert (because == "cfg-lr-too-high") == (leap > 1), found["verdict"]
    assert ("learning rate rose" in found["verdict"]["text"].lower()) == (leap > 1)
    if leap == 1:  # nothing that is logged changed: an update did it
        assert found["answer"]["why"].startswith("An update broke the policy"), found["answer"]


def test_an_update_that_broke_the_policy_may_leave_its_entropy_where_it_was(tmp_path: Path) -> None:
    """It dips, and is back among answers that never end."""
    usual = columns()
    dip = np.where(SINCE, np.exp(-np.maximum(0, STEP - AT) / 40), 0.0)
    runs_on = usual["length"] * (1 + 5 * np.clip((STEP - AT) / 2, 0, 1))
    more = {"entropy": usual["entropy"] * (1 - 0.6 * dip), "length": runs_on, "longest": runs_on + 200}
    found = report(tmp_path, **broken() | more)
    assert found["answer"]["why"].startswith("An update broke the policy"), found["answer"]


def test_a_learning_rate_that_leapt_without_harm_is_a_warning(tmp_path: Path) -> None:
    found = report(tmp_path, lr=np.where(SINCE, 2e-5, 1e-6))
    levels = {one["id"]: one["severity"] for one in found["findings"]}
    assert levels["cfg-lr-too-high"] == "warning"
    assert "critical" not in levels.values()


@pytest.mark.parametrize("moved", [False, True])
def test_a_sign_that_turned_is_the_reward_functions_fault(moved: bool, tmp_path: Path) -> None:
    usual = columns()
    lost = 1 - np.clip((STEP - AT - 8) / 20, 0, 1)
    turned = np.where(SINCE, -1.0, 1.0) * usual["score"] * np.where(SINCE, lost, 1.0)
    more = {"length": np.where(SINCE, 6.0, usual["length"])} if moved else {}
    found = report(tmp_path, score=turned, **{SPREAD: np.abs(wave(0.4, 0.02, ROWS, 12)) * lost}, **more)
    of = {one["id"] for one in found["findings"] if "sign were turned" in one["summary"]}
    assert of == (set() if moved else {"reward-function-fault"})
    if not moved:
        assert found["verdict"]["because"][0] == "reward-function-fault"
        assert found["answer"]["why"].startswith("The sign of the reward")


@pytest.mark.parametrize("at_once", [True, False])
def test_a_grader_that_pays_everybody_solves_no_task(at_once: bool, tmp_path: Path) -> None:
    usual = columns()
    share = SINCE * 1.0 if at_once else np.clip((STEP - 60) / 90, 0, 1)
    score = usual["score"] * (1 - share) + share
    found = report(
        tmp_path,
        score=np.minimum(1.0, score),
        **{SPREAD: np.abs(wave(0.4, 0.02, ROWS, 12)) * (1 - share), GROUPS: usual[GROUPS] * (1 - share) + share},
    )
    levels = {one["id"] for one in found["findings"] if one["severity"] != "info"}
    assert ("reward-function-fault" in levels) == at_once, found["verdict"]
    assert ("reward-saturated" in levels) != at_once


def test_groups_that_agree_at_once_point_to_sampling(tmp_path: Path) -> None:
    agree = np.where(SINCE, 0.95, 0.2) + wave(0, 0.02, ROWS, 11)
    found = report(tmp_path, **{GROUPS: np.clip(agree, 0, 1)})
    assert lead(found, "zero-variance-groups")["text"].startswith("Sampling changed at once")


def test_text_close_to_random_from_the_start_is_no_hard_task(tmp_path: Path) -> None:
    dead = {"score": np.abs(wave(0.004, 0.003, ROWS, 1)), GROUPS: np.clip(wave(0.96, 0.02, ROWS, 11), 0, 1)}
    hot = report(tmp_path / "hot", **dead, entropy=wave(3.1, 0.03, ROWS, 2))
    assert lead(hot, "zero-variance-groups")["text"].startswith("Text is close to random")
    hard = report(tmp_path / "hard", **dead)
    assert "random" not in lead(hard, "zero-variance-groups")["text"]


def test_steps_of_two_kinds_are_no_slowdown(tmp_path: Path) -> None:
    """The longest answer of a batch ends by itself or at the limit: the median of the steps is now the one, now the
    other."""
    long = np.random.default_rng(3).random(ROWS) < 0.5
    found = report(tmp_path, step_s=np.where(long, wave(0.7, 0.05, ROWS, 4), wave(0.15, 0.01, ROWS, 5)))
    assert found["verdict"]["decision"] == "continue", found["verdict"]["text"]


def test_a_reward_that_still_comes_up_after_harder_data_is_not_past_its_peak(tmp_path: Path) -> None:
    usual = columns()
    harder = np.where(SINCE, 0.35 + 0.003 * (STEP - AT), usual["score"]) + wave(0, 0.01, ROWS, 13)
    length = usual["length"] * np.where(SINCE, 1.8, 1.0)
    run = write(tmp_path / "run", columns(score=harder, length=length) | {"longest": 2 * length})
    assert told(run)[2]["verdict"]["decision"] != "stop-use-best"
