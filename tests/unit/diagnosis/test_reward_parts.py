"""Parts of a reward: which one is the task, which is farmed, what it weighs, and what an evaluation is judged by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write

ROWS, EVERY = 240, 10
RULE = "reward-component-decoupling"


def course(*points: tuple[int, float], noise: float = 0.02, seed: int = 0) -> np.ndarray:
    """Straight lines between levels at rows, with noise."""
    at, levels = zip(*points, strict=True)
    return np.interp(np.arange(ROWS), at, levels) + wave(0, noise, ROWS, seed)


RISES = ((0, 0.35), (90, 0.53))
LEVEL = course(*RISES, (ROWS, 0.53))
FALLS = course(*RISES, (ROWS, 0.38))
BONUS = course((0, 0.08), (90, 0.1), (ROWS, 0.4), noise=0.005, seed=1)


def home(folder: Path, task: np.ndarray, other: np.ndarray, name: str = "length_bonus", **config: float) -> Path:
    """A home-made loop whose reward is the sum of two parts."""
    run = {key: values for key, values in learning(ROWS).items() if key in ("grad", "step_s")}
    parts = {"reward_parts/correct": task, f"reward_parts/{name}": other}
    write(folder, {"grad_norm": run["grad"], "reward": task + other, **parts})
    (folder / "config.json").write_text(json.dumps({"lr": 1e-6, **config}))
    return folder


def lead(found: Mapping[str, Any]) -> str:
    return str(found["causes"][0]["text"])


@pytest.mark.parametrize("task", [LEVEL, FALLS], ids=["level", "falls"])
def test_a_gain_of_another_part_alone_is_told_with_its_weight(
    task: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = finding(report(home(tmp_path, task, BONUS, length_bonus_weight=0.4), capsys), RULE)
    assert found is not None
    assert found["severity"] == "warning"
    assert found["subject"] == "correct"
    assert lead(found) == "The extra part is cheaper to earn than the task"
    assert "length_bonus" in found["causes"][0]["because"]
    fix = found["fixes"][0]
    assert (fix["config_key"], fix["value"], fix["to"]) == ("length_bonus_weight", 0.4, 0.2)


@pytest.mark.parametrize(
    ("task", "other"),
    [
        (course(*RISES, (ROWS, 0.8)), BONUS),
        (LEVEL, course((0, 0.08), (ROWS, 0.12), noise=0.005, seed=1)),
        (course((0, 0.35), (60, 0.35), (ROWS, 0.7)), course((0, 0.05), (50, 0.5), (ROWS, 0.5), seed=1)),
    ],
    ids=["the task is learnt, too", "the other part gains less than the task did", "format first, the task later"],
)
def test_a_reward_whose_task_is_learnt_is_not_farmed(
    task: np.ndarray, other: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert finding(report(home(tmp_path, task, other), capsys), RULE) is None


@pytest.mark.parametrize(("sign", "told"), [(1, True), (-1, False)])
def test_a_penalty_that_adds_to_the_reward_has_the_wrong_sign(
    sign: int, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = BONUS if sign > 0 else BONUS - 0.5
    found = finding(report(home(tmp_path, FALLS, part, "overlong_penalty"), capsys), RULE)
    assert found is not None
    assert ("its sign is wrong" in lead(found)) == told
    assert ("Change the sign" in found["fixes"][0]["text"]) == told


def evaluated(folder: Path, task: np.ndarray, other: np.ndarray, part: str = "accuracy_reward") -> Path:
    """A trainer that evaluates the sum of two parts, and each."""
    trained = {"loss": wave(0, 0.01, ROWS, 3), "completions/mean_length": wave(300, 5, ROWS, 4)}
    sums = {"reward": task + other, "eval_reward": task + other}
    parts = {f"rewards/{part}/mean": task, f"eval_rewards/{part}/mean": task, "eval_rewards/length_reward/mean": other}
    every = dict.fromkeys(("eval_reward", f"eval_rewards/{part}/mean", "eval_rewards/length_reward/mean"), EVERY)
    return write(folder, {**trained, **sums, **parts}, every)


def test_an_evaluation_with_parts_is_judged_by_the_one_that_is_the_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = evaluated(tmp_path, FALLS, BONUS * 2)
    told = report(run, capsys)
    assert finding(told, "train-val-divergence") is not None
    assert 60 <= told["verdict"]["best_checkpoint"]["step"] <= 120
    mapped = report(run, capsys, "--map", "val_score=eval_reward")
    assert finding(mapped, "val-regression") is None, "the user's word counts"


def test_the_sum_counts_if_no_part_is_the_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = report(evaluated(tmp_path, FALLS, BONUS * 2, "style_reward"), capsys)
    assert finding(told, "val-regression") is None
    assert told["verdict"]["best_checkpoint"]["step"] > 200


def test_a_task_that_stands_level_is_told_wherever_its_highest_point_lies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanders = course(*RISES, (150, 0.52), (225, 0.545), (ROWS, 0.54), noise=0.03)
    found = finding(report(home(tmp_path, wanders, BONUS), capsys), RULE)
    assert found is not None
    assert found["onset_step"] < 120


@pytest.mark.parametrize("to", [0.003, 0.02])
def test_a_task_that_is_the_whole_reward_gains_as_much(
    to: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = np.abs(course((0, 0.011), (ROWS, 0.011 + to), noise=0.002))
    write(tmp_path, {"reward": task, "reward_parts/correct": task, "grad_norm": wave(0.1, 0.01, ROWS)})
    assert finding(report(tmp_path, capsys), RULE) is None
