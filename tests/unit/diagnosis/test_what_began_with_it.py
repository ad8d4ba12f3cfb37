"""What leads is what began with the harm: not what had stood all the time in which the reward rose, nor the part of a
reward that is the reward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.unit.diagnosis.test_no_reason_to_stop import AT, ROWS, SINCE, evaluated, learns, page, pages, ramp
from tests.unit.diagnosis.written import wave

LATER = ramp(AT + 2, 20)


def fallen(**other: np.ndarray) -> dict[str, np.ndarray]:
    reward = 0.6 + 0.35 * ramp(0, AT - 40) - 0.2 * LATER + wave(0, 0.02, ROWS, 1)
    held_out = evaluated(0.5 + 0.3 * ramp(0, AT - 40) - 0.2 * LATER + wave(0, 0.01, ROWS, 8))
    return learns(**({"reward_mean": reward, "eval_accuracy": held_out} | other))


def finding(found: dict[str, Any], rule: str) -> dict[str, Any]:
    return next(f for f in found["findings"] if f["id"] == rule and f["status"] == "active")


def test_a_critic_that_never_was_of_use_explains_no_fall_that_another_rate_does(tmp_path: Path) -> None:
    critic = {
        "explained_variance": wave(-0.01, 0.03, ROWS, 2),
        "value_loss": wave(0.01, 0.001, ROWS, 3) * (1 + 5 * LATER),
        "lr": np.where(SINCE, 2e-5, 1e-6),
    }
    for upto, found in pages(tmp_path, fallen(**critic), (AT + 30, AT + 60)):
        assert finding(found, "critic-uninformative")["severity"] == "warning", upto
        assert found["verdict"]["because"][0] != "critic-uninformative", (upto, found["verdict"])
        why = found["answer"]["why"]
        assert "critic" not in why, (upto, why)
        assert f"step {AT}" in why, (upto, why)


def test_a_part_that_is_the_reward_is_no_other_part(tmp_path: Path) -> None:
    columns = fallen()
    found = page(tmp_path, columns | {"rewards/match": columns["reward_mean"]}, AT + 70)
    texts = [c for f in found["findings"] for c in f["causes"] if "another part" in c["text"].lower()]
    assert texts
    assert all(c["status"] == "contradicted" for c in texts), texts


def test_the_total_that_leaps_without_its_task_is_dated_at_the_leap(tmp_path: Path) -> None:
    """The task was learnt long before: that it stood level since is no fault."""
    task = 0.3 * ramp(0, 60) + wave(0, 0.008, ROWS, 4)
    form = 0.4 + 0.25 * ramp(0, 60) + wave(0, 0.008, ROWS, 5)
    total = task + form + np.where(SINCE, 0.7, 0.0)
    found = page(tmp_path, learns(reward_mean=total, **{"reward/accuracy": task, "reward/format": form}))
    told = [f for f in found["findings"] if f["id"] == "reward-component-decoupling" and f["severity"] != "info"]
    assert told
    assert all(abs(f["onset_step"] - AT) <= 10 for f in told), [f["onset_step"] for f in told]


def test_prompts_are_not_too_easy_for_a_reward_that_turned(tmp_path: Path) -> None:
    """It paid up to 2, and more than 1 from the start."""
    reward = np.where(SINCE, -1.0, 1.0) * (1.7 + 0.25 * ramp(0, 60) + wave(0, 0.02, ROWS, 6))
    found = page(tmp_path, learns(reward_mean=reward), AT + 12, every=3)
    causes = finding(found, "reward-function-fault")["causes"]
    assert all(c["status"] != "supported" for c in causes if "too easy" in c["text"]), causes


def test_right_answers_are_no_pairs(tmp_path: Path) -> None:
    """Validation counts right answers, which become less likely with all others. It never was at the half at which
    pairs are told apart by chance, so that it proves nothing of them."""
    step = np.arange(1, ROWS + 1)
    margin = 2 * (1 - np.exp(-step / 60))
    rows = {
        "loss": np.log1p(np.exp(-margin)) + wave(0, 0.01, ROWS, 1),
        "rewards/chosen": -0.5 * margin,
        "rewards/rejected": -1.5 * margin,
        "rewards/margins": margin,
        "rewards/accuracies": np.clip(0.5 + 0.45 * (1 - np.exp(-step / 30)) + wave(0, 0.02, ROWS, 2), 0, 1),
        "logps/chosen": -2 - 3 * ramp(60, 200) + wave(0, 0.2, ROWS, 4),
        "logps/rejected": -7 - 9 * margin + wave(0, 0.2, ROWS, 5),
        "eval_accuracy": evaluated(np.clip(0.36 - 0.26 * ramp(40, 120) + wave(0, 0.012, ROWS, 3), 0, 1)),
    }
    found = page(tmp_path, rows)
    swapped = [c for f in found["findings"] for c in f["causes"] if "are swapped in the training pairs" in c["text"]]
    assert swapped
    assert all(c["status"] != "supported" for c in swapped), swapped
