"""What small policy-gradient trainings with a known fault showed: each case at two scales of the reward, and logged in
two ways."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write

ROWS, AT = 300, 200
T = np.arange(ROWS)
SINCE = AT + 1 <= T + 1

HOME = {
    "score": "mean_return",
    "reward_std": "reward_std",
    "entropy": "policy_entropy",
    "kl": "kl_to_ref",
    "grad": "grad_norm",
    "length": "mean_length",
    "val": "val_accuracy",
    "lr": "lr",
    "frac_reward_zero_std": "frac_reward_zero_std",
}
"""Short name -> column of a home-made table."""

SCALES = pytest.mark.parametrize("scale", [1.0, 100.0], ids=["shares", "percent"])
WAYS = pytest.mark.parametrize("way", ["verl", "table"])


def rising(rows: int = ROWS, noise: float = 0.02, seed: int = 1) -> np.ndarray:
    return 0.3 + 0.55 * (1 - np.exp(-np.arange(rows) / 60)) + wave(0, noise, rows, seed)


def told(
    folder: Path, way: str, capsys: pytest.CaptureFixture[str], every: int = 1, **columns: np.ndarray
) -> dict[str, Any]:
    """The report of a run that learns, with these columns of its own, as JSON lines of verl or as a table."""
    all_of: Mapping[str, np.ndarray] = learning(ROWS) | {"score": rising()} | columns
    if way == "verl":
        return report(write(folder / "run", all_of, every={"val": every}), capsys)
    path = folder / "run.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        names = {name: HOME[name] for name in all_of if name in HOME}
        out.writerow(["iteration", *names.values()])
        for i in range(ROWS):
            cells = [all_of[name][i] if name != "val" or (i + 1) % every == 0 else "" for name in names]
            out.writerow([i + 1, *cells])
    return report(path, capsys)


def causes(of: Mapping[str, Any], rule: str) -> list[str]:
    """The causes of an active finding that the run does not contradict."""
    found = finding(of, rule)
    assert found is not None
    return [cause["text"] for cause in found["causes"] if cause["status"] != "contradicted"]


@SCALES
@WAYS
def test_rewards_at_their_floor_are_no_prompts_that_are_too_easy(
    scale: float, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The grader gives 0 to all, where it gave more than 1: the level before was a high number, no highest score."""
    of = told(tmp_path, way, capsys, score=np.where(SINCE, 0.0, scale * rising()))
    assert not any("too easy" in text for text in causes(of, "reward-function-fault"))


@SCALES
@WAYS
def test_rewards_that_leap_are_no_prompts_that_are_too_easy(
    scale: float, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    score = scale * (1.0 + rising() + np.where(SINCE, 1.2, 0.0))
    val = np.clip(rising(seed=5) - 0.1, 0, 1)
    of = told(tmp_path, way, capsys, every=10, score=score, val=val)
    assert not any("too easy" in text for text in causes(of, "reward-function-fault"))


@SCALES
@WAYS
@pytest.mark.parametrize("known", [True, False], ids=["of what was learnt", "of nothing that was learnt"])
def test_what_was_gained_before_validation_was_swapped_is_not_missed_by_it(
    known: bool, scale: float, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other questions are asked from a step on: validation had risen with training until then. A validation set that
    never rose is another case."""
    score = scale * np.clip(rising() + 0.12, 0, 1)
    before = rising(seed=4) if known else wave(0.13, 0.01, ROWS, 4)
    val = np.where(SINCE, 0.13 + wave(0, 0.01, ROWS, 5), before)
    of = told(tmp_path, way, capsys, every=10, score=score, val=val)
    apart = finding(of, "train-val-divergence")
    if known:
        assert finding(of, "validation-shift") is not None
        assert apart is None or apart["severity"] == "info"
        assert of["verdict"]["decision"] == "continue-watch"
    elif scale == 1.0:
        assert apart is not None
        assert apart["severity"] != "info"


SPREADS = {
    "wider than the range": (1.9, 0.0, True),
    "half as wide again": (0.75, 0.0, False),
    "with the mean": (1.9, -0.9, False),
}


@SCALES
@WAYS
@pytest.mark.parametrize(("wide", "moved", "noisier"), SPREADS.values(), ids=list(SPREADS))
def test_rewards_of_a_batch_that_lie_further_apart_at_once_are_noisier(
    wide: float,
    moved: float,
    noisier: bool,
    scale: float,
    way: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The mean of many hides what each reward has become. A spread that grew with the mean is another reward."""
    spread = np.where(SINCE, wide, 0.5) + wave(0, 0.03, ROWS, 6)
    score = rising() + np.where(SINCE, moved + wave(0, 0.06, ROWS, 7), 0.0)
    of = told(tmp_path, way, capsys, score=scale * score, reward_std=scale * spread)
    found = finding(of, "reward-noise-dominates")
    assert (found is not None and found["severity"] == "warning") == noisier
    if found is not None and noisier:
        assert found["onset_step"] == AT + 1
        assert any("Grading became noisier" in text for text in causes(of, "reward-noise-dominates"))


@SCALES
@WAYS
@pytest.mark.parametrize("falls", [False, True])
def test_gradients_of_a_million_that_change_nothing_are_not_critical(
    falls: bool, scale: float, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A KL of single tokens overflows now and then, and the reward stays: something limits the step."""
    grad = wave(0.17, 0.01, ROWS, 4)
    grad[[276, 283, 290]] = 5e6
    score = rising() - np.where((T > 276) & falls, 0.5, 0.0)
    of = told(tmp_path, way, capsys, score=scale * score, grad=grad)
    found = finding(of, "grad-norm-explosion")
    assert found is not None
    assert (found["severity"] == "critical") == falls


STARTS = {
    "one update went far, and the next ones come back": (np.r_[34.0, 7.6, 2.6, 1.3, 2.1, 2.3, 1.6, 1.4], True),
    "each update goes far": (np.r_[1.6, 4.0, 1.5, 2.3, 1.4, 9.0, 2.0, 3.0], True),
    "another reference": (np.r_[1.6, 1.62, 1.58, 1.6, 1.63, 1.61, 1.6, 1.59], False),
    "another reference, noisy": (np.r_[1.6, 2.2, 1.3, 1.7, 1.4, 1.9, 1.5, 1.7], False),
}


@SCALES
@WAYS
@pytest.mark.parametrize(("kl", "updates"), STARTS.values(), ids=list(STARTS))
def test_a_kl_that_the_first_updates_made_is_no_other_reference(
    kl: np.ndarray, updates: bool, scale: float, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first row holds the updates of its own step."""
    rest = np.abs(wave(float(np.median(kl[3:])), 0.1, ROWS - len(kl), 8))
    level = wave(0.2, 0.02, ROWS, 9)
    of = told(
        tmp_path, way, capsys, score=scale * level, kl=np.r_[kl, rest], ppo_kl=np.zeros(ROWS), lr=np.full(ROWS, 0.5)
    )
    assert (finding(of, "reference-mismatch-at-start") is None) == updates
    rate = finding(of, "cfg-lr-too-high")
    assert (rate is not None and "single updates go that far" in rate["summary"]) == updates


@SCALES
@WAYS
@pytest.mark.parametrize("broken", [True, False], ids=["no number", "a number"])
def test_a_gradient_of_before_it_was_no_number_is_none_of_now(
    broken: bool, scale: float, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grad = np.where(SINCE & broken, np.nan, wave(0.2, 0.01, ROWS, 4))
    dead = np.where(SINCE, 1.0, 0.3)
    score = scale * np.where(SINCE, wave(0.2, 0.02, ROWS, 6), rising())
    of = told(tmp_path, way, capsys, score=score, grad=grad, frac_reward_zero_std=dead)
    found = finding(of, "zero-variance-groups")
    assert found is not None
    assert ("and yet the gradient is at" in found["summary"]) != broken
