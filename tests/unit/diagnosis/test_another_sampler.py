"""A sampler that changed at one step: other answers in the very next row, under updates that are as they were. An
update that broke the policy shows in the clip fraction, in its own KL and in the gradient."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.test_no_reason_to_stop import AT, ROWS, SINCE, learns, page, pages, ramp
from tests.unit.diagnosis.written import wave


def run(broken: bool = False, **other: np.ndarray) -> dict[str, np.ndarray]:
    usual = {
        "reward_mean": np.where(SINCE, 0.47, 0.5 + 0.4 * ramp(0, AT)) + wave(0, 0.02, ROWS, 1),
        "kl_per_token": np.where(SINCE, 1.5, 0.15 * ramp(0, AT) + 1e-4) * wave(1, 0.1, ROWS, 2),
        "clip_fraction": np.where(SINCE & broken, 0.11, 0.004) * wave(1, 0.2, ROWS, 6),
        "approx_kl": np.where(SINCE & broken, 0.12, 5e-4) * wave(1, 0.2, ROWS, 7),
        "grad_norm": np.where(SINCE & broken, 1.6, 0.6) * wave(1, 0.08, ROWS, 4),
    }
    columns = learns(**usual | other)
    return {name: x for name, x in columns.items() if name != "kl"}


ENDLESS = {
    "response_length": np.where(SINCE, 8.0, 5.0 + wave(0, 0.05, ROWS, 5)),
    "truncated": np.where(SINCE, 1.0, 0.0),
    "entropy": np.where(SINCE, 0.7, 0.2) * wave(1, 0.04, ROWS, 3),
}


@pytest.mark.parametrize("other", [{}, ENDLESS], ids=["temperature", "no end of an answer"])
def test_other_answers_under_the_same_updates(other: dict[str, np.ndarray], tmp_path: Path) -> None:
    for upto, found in pages(tmp_path, run(**other), (AT + 20, AT + 60)):
        causes = [f["causes"][0] for f in found["findings"] if f["id"] == "kl-runaway"]
        assert causes, upto
        assert causes[0]["text"].startswith("The sampler changed at that step"), (upto, causes)
        assert causes[0]["status"] == "supported", upto
        assert f"step {AT}" in causes[0]["because"], upto
        assert other or found["answer"]["why"].startswith("The sampler changed at that step"), found["answer"]


def test_an_update_that_broke_the_policy_is_no_other_sampler(tmp_path: Path) -> None:
    found = page(tmp_path, run(broken=True, **ENDLESS), AT + 40)
    told = [c for f in found["findings"] for c in f["causes"] if c["text"].startswith("The sampler changed at that")]
    assert told
    assert all(c["status"] == "contradicted" for c in told), told


def test_another_reference_changes_no_answers(tmp_path: Path) -> None:
    """The KL alone leaps."""
    columns = run(reward_mean=0.5 + 0.4 * ramp(0, AT) + wave(0, 0.02, ROWS, 1))
    found = page(tmp_path, columns, AT + 40)
    told = [c for f in found["findings"] for c in f["causes"] if c["text"].startswith("The sampler changed at that")]
    assert all(c["status"] == "contradicted" for c in told), told


@pytest.mark.parametrize("rows", [6, 12])
def test_what_was_solved_until_a_moment_ago_is_not_too_easy(rows: int, tmp_path: Path) -> None:
    """No answer ends any more, and none is right: groups agree as all of them fail."""
    right = np.where(SINCE, 0.0, np.clip(0.8 + 0.17 * ramp(0, 40) + wave(0, 0.01, ROWS, 8), 0, 1))
    agree = np.where(SINCE, 1.0, np.clip(0.3 + 0.45 * ramp(0, 40) + wave(0, 0.03, ROWS, 9), 0, 1))
    columns = run(**ENDLESS, reward_mean=right, frac_reward_zero_std=agree)
    found = page(tmp_path, columns | {"reward/correct": right}, AT + rows)
    said = [c for f in found["findings"] for c in f["causes"] if "too easy" in c["text"] or "has solved" in c["text"]]
    assert all(c["status"] != "supported" for c in said if "every answer" in c["text"] or "solved" in c["text"]), said


def test_what_was_learnt_first_is_not_unlearnt_from_the_first_step_on(tmp_path: Path) -> None:
    right = np.where(SINCE, 0.0, np.clip(0.6 + 0.35 * ramp(0, 90) + wave(0, 0.01, ROWS, 8), 0, 1))
    found = page(tmp_path, run(**ENDLESS, reward_mean=right), AT + 60)
    signs = [c for f in found["findings"] for c in f["causes"] if "wrong sign" in c["text"]]
    assert signs
    assert all(c["status"] == "contradicted" for c in signs), signs


@pytest.mark.parametrize("rows", [8, 20])
def test_answers_that_learn_to_be_long_are_of_no_other_sampler(rows: int, tmp_path: Path) -> None:
    """The reward pays for length: within some rows most answers run into the limit, and the KL goes with them."""
    learnt = ramp(AT, rows) ** 2
    longer = {
        "response_length": 8 + 5 * ramp(AT - 30, 30) + 19 * learnt + wave(0, 0.6, ROWS, 5),
        "truncated": np.clip(0.05 * ramp(AT - 30, 30) + 0.95 * learnt + wave(0, 0.01, ROWS, 3), 0, 1),
        "reward_mean": 0.6 + 0.15 * ramp(0, AT) + 0.22 * learnt + wave(0, 0.015, ROWS, 1),
        "kl_per_token": (0.1 * ramp(0, AT) + 0.3 * ramp(AT - 30, 30) + 3 * learnt + 1e-4) * wave(1, 0.1, ROWS, 2),
    }
    for upto, found in pages(tmp_path, run(**longer), (AT + 30, AT + 90)):
        told = [c for f in found["findings"] for c in f["causes"] if c["text"].startswith("The sampler changed at")]
        assert all(c["status"] != "supported" for c in told), (upto, told)


KL, ENTROPY, RIGHT = 0.8 * ramp(0, AT) + 1e-3, 1.8 - 1.0 * ramp(0, AT), 0.3 + 0.55 * ramp(0, AT)
"""A run that goes the same way for `AT` steps."""


def back_at(then: dict[str, float]) -> dict[str, np.ndarray]:
    """From `AT` on at these levels, and on from there at the pace of before."""
    left = {"kl_per_token": KL, "entropy": ENTROPY, "reward_mean": RIGHT}
    noise = {"kl_per_token": 0.12, "entropy": 0.04, "reward_mean": 0.06}
    on = np.maximum(np.arange(ROWS) - AT, 0) / AT
    out = {}
    for seed, (name, course) in enumerate(left.items()):
        pace = float(course[AT - 1] - course[0])
        out[name] = np.where(SINCE, then[name] + on * pace, course) * wave(1, noise[name], ROWS, 20 + seed)
    return out


@pytest.mark.parametrize(
    ("then", "leads"),
    [
        ({"kl_per_token": 0.25, "entropy": 1.9, "reward_mean": 0.45}, "The sampler changed at that step"),
        ({"kl_per_token": 0.24, "entropy": 1.5, "reward_mean": 0.465}, "The policy is that of an earlier step"),
    ],
    ids=["hotter", "of step 36"],
)
def test_a_hotter_sampler_is_no_policy_of_before(then: dict[str, float], leads: str, tmp_path: Path) -> None:
    """At no step of before were KL and entropy where they stand: weights of before bring back all of them."""
    for upto, found in pages(tmp_path, run(**back_at(then)), (AT + 12, AT + 40)):
        causes = [f["causes"][0] for f in found["findings"] if f["id"] in ("reward-collapse", "reward-peak-decline")]
        assert causes, upto
        assert all(c["text"].startswith(leads) and c["status"] == "supported" for c in causes), (upto, causes)
