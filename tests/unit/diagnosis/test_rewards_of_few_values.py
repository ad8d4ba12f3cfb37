"""Runs that sample one answer a step, or a few: each reward is 0 or 1, and a median says which came more often."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from rltui.evidence.metric import MetricFacts, alone
from rltui.evidence.never_rose import never_rose
from rltui.run.table import Series
from tests.unit.diagnosis.written import finding, report

ROWS = 300
Course = Callable[[np.ndarray], np.ndarray]


def falls(share: np.ndarray) -> np.ndarray:
    return 0.8 - 0.5 * share


def breaks(share: np.ndarray) -> np.ndarray:
    return np.where(share < 0.6, 0.85, 0.3)


def log(folder: Path, course: Course, answers: int = 1, seed: int = 1, rows: int = ROWS) -> Path:
    """A home-made loop that logs the share of right answers of each step."""
    draw = np.random.default_rng(seed)
    share = course(np.arange(rows) / rows)
    path = folder / "log.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for i in range(rows):
            row: dict[str, Any] = {"step": i + 1, "reward": float(draw.binomial(answers, share[i])) / answers}
            row |= {"grad_norm": abs(draw.normal(1, 0.2)), "loss": draw.normal(0, 0.05), "lr": 1e-6}
            row |= {"entropy": 0.8 - 0.001 * i + draw.normal(0, 0.02), "kl": 0.0002 * i + abs(draw.normal(0, 0.002))}
            file.write(json.dumps(row) + "\n")
    return path


def facts_of(values: np.ndarray) -> MetricFacts:
    at = np.arange(len(values))
    return alone("score_mean", Series("reward", at + 1, values, at, np.full(len(values), np.nan)))


def text(run: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["report", str(run), *words]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("answers", "share"), [(1, 0.74), (2, 0.8), (4, 0.85)])
def test_a_level_far_from_the_ceiling_is_not_at_it(
    answers: int, share: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Most of these rows are 1: the median is at 100 % of the range, and the policy is not."""
    run = log(tmp_path, lambda x: np.full(len(x), share), answers)
    found = report(run, capsys)
    assert finding(found, "reward-saturated") is None
    told = text(run, capsys)
    assert "little to learn" not in told
    assert "too easy" not in told


def test_a_policy_that_is_right_now_and_then_is_not_at_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = text(log(tmp_path, lambda x: np.full(len(x), 0.15), 4), capsys)
    assert "reward mean is 0," not in told
    assert "too hard" not in told
    for was, now in re.findall(r"Reward [a-z ]+ in \d+ rows: (\S+) → (\S+) \(means of", told):
        assert 0.05 < min(float(was), float(now)) <= max(float(was), float(now)) < 0.3


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_a_fall_are_those_of_the_table(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five of seven rows are 0 behind the break: the reward is at .3, and not "at 0, 100 % lost"."""
    found = report(log(tmp_path, breaks, seed=20 + seed), capsys)
    said = [f["summary"] for f in found["findings"] if f["id"] in ("reward-collapse", "reward-peak-decline")]
    for one in said:
        now = re.search(r"(?:to|is at) (\S+) \((?:mean|median) of", one)
        assert now is None or 0.05 < float(now.group(1)) < 0.5, one


@pytest.mark.parametrize("course", [falls, breaks])
@pytest.mark.parametrize("seed", [1, 21, 22, 24])
def test_a_fall_that_the_numbers_show_is_no_reason_to_go_on(
    course: Course, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Most of what was right is lost: whether or not a rule is sure in such noise, nothing says "let it run"."""
    run = log(tmp_path, course, seed=seed)
    assert report(run, capsys)["verdict"]["decision"] != "continue"
    told = text(run, capsys)
    assert "nothing is being lost" not in told
    assert "nothing to explain" not in told
    assert "has not moved beyond its noise" not in told


@pytest.mark.parametrize("seed", range(4))
def test_a_fall_that_came_late_is_not_unlearnt_from_the_first_step_on(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reward stood for 180 steps, in whatever noise: no sign of the loss unlearns what is right only then."""
    told = text(log(tmp_path, breaks, seed=20 + seed), capsys)
    assert "from the first step on" not in told
    assert "little by little" not in told


def test_what_fell_from_the_start_is_told_from_what_fell_late() -> None:
    draw = np.random.default_rng(3)
    at = np.arange(ROWS) / ROWS
    for noise in (0.02, 0.1, 0.2):
        off = draw.normal(0.0, noise, ROWS)
        odds = 1 / (1 + np.exp(-(3.0 - 7.0 * at)))  # 95 % right at first: the odds fall in step
        for course in (falls(at), odds):
            assert never_rose(facts_of(course + off), 0.3), "it fell from its first rows on"
        for late in (np.where(at < 0.6, 0.85, 0.3), 0.85 - 0.6 * np.clip((at - 0.5) / 0.2, 0, 1)):
            assert not never_rose(facts_of(late + off), 0.3), "it stood for most of the run before it fell"


def test_advice_about_a_critic_needs_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody knows the algorithm, and no critic is logged: there is none to look at."""
    for seed in (1, 20, 21):
        told = text(log(tmp_path, breaks, seed=seed), capsys, "--long")
        assert "of the critic" not in told.split("## 4")[1].split("## 6")[0]


def pairs(folder: Path, margin: Course, seed: int = 5, rows: int = 400) -> Path:
    """DPO on one pair a step, as TRL logs it: each accuracy is 0 or 1."""
    draw = np.random.default_rng(seed)
    means = margin(np.arange(rows) / rows)
    path = folder / "train.log"
    with path.open("w", encoding="utf-8") as file:
        for i in range(rows):
            wide = float(means[i] + draw.normal(0, 0.6))
            chosen = float(draw.normal(0, 0.4))
            row = {"loss": float(np.log1p(np.exp(-wide))), "grad_norm": draw.uniform(8, 30), "learning_rate": 5e-7}
            row |= {"rewards/chosen": chosen, "rewards/rejected": chosen - wide, "rewards/accuracies": float(wide > 0)}
            row |= {
                "rewards/margins": wide,
                "logps/chosen": draw.normal(-200, 40),
                "logps/rejected": draw.normal(-200, 40),
            }
            file.write(f"{ {k: round(v, 4) for k, v in row.items()} | {'epoch': i / rows} }\n")
    return path


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_single_pairs_that_teach_nothing_are_told(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """46 % of them are right, or 54 %: guessing gives either."""
    found = report(pairs(tmp_path, np.zeros_like, seed), capsys)
    assert finding(found, "dpo-no-signal-or-saturated") is not None


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_single_pairs_that_are_learnt_are_not_at_their_end(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three in four are right at the end, and the median of such rows is 1."""
    run = pairs(tmp_path, lambda share: 0.6 * (1 - np.exp(-4 * share)), seed)
    told = text(run, capsys)
    assert "nothing is left to learn" not in told
    assert "little to learn" not in told
    best = report(run, capsys)["verdict"]["best_checkpoint"]
    assert best is None or best["value"] < 0.97
