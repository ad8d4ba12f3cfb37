"""A run that times the phases of a step and not the whole: their sum is the step for all that asks how long it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write
from tests.unit.reported import told

ROWS, AT = 160, 90
RULE = "step-time-regression"


def home(folder: Path, **more: np.ndarray) -> Path:
    """A home-made loop that times four phases."""
    run = {"reward": learning(ROWS)["score"], "response_length": wave(300, 3, ROWS, 1)}
    timed = {"t_gen": wave(22, 0.5, ROWS, 2), "t_train": wave(12, 0.3, ROWS, 3), "t_reward": wave(2, 0.1, ROWS, 4)}
    return write(folder, run | timed | more)


def slow_grader() -> np.ndarray:
    return np.where(np.arange(ROWS) < AT, wave(2, 0.1, ROWS, 4), wave(38, 1, ROWS, 5))


def test_a_phase_that_grew_makes_the_step_slow_and_is_its_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = finding(report(home(tmp_path, t_reward=slow_grader()), capsys), RULE)
    assert found is not None
    assert found["severity"] == "warning"
    assert found["causes"][0]["text"] == "Slow reward or tools"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"t_reward": slow_grader(), "staleness": wave(1, 0.1, ROWS, 6)},
        {"t_reward": slow_grader(), "step_time": wave(36, 0.5, ROWS, 7)},
    ],
    ids=["nothing grew", "phases run beside each other", "the step is timed and no slower"],
)
def test_a_sum_that_is_no_slower_step_is_not_told(
    more: dict[str, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert finding(report(home(tmp_path, **more), capsys), RULE) is None


@pytest.mark.parametrize(
    ("load", "lead"),
    [
        ({"host/load1": np.where(np.arange(ROWS) < AT, 13.0, 70.0)}, "Another process takes the CPUs of the host"),
        ({"host/load1": np.full(ROWS, 13.0)}, "Generation and update became slower alike"),
        ({}, "Generation and update became slower alike"),
    ],
    ids=["the load rose", "the load is as before", "no load is logged"],
)
def test_a_logged_load_of_the_host_tells_why_all_became_slower(
    load: dict[str, np.ndarray], lead: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = np.where(np.arange(ROWS) < AT, 1.0, 2.0)
    phases = {"t_gen": slow * wave(22, 0.5, ROWS, 2), "t_train": slow * wave(12, 0.3, ROWS, 3)}
    found = finding(report(home(tmp_path, **phases, **load), capsys), RULE)
    assert found is not None
    assert found["causes"][0]["text"].startswith(lead)


@pytest.mark.parametrize("slow", [True, False])
def test_a_phase_that_holds_all_that_comes_before_the_update_makes_a_step_with_it(slow: bool, tmp_path: Path) -> None:
    experience = np.where(np.arange(ROWS) < AT, 1.0, 2.4 if slow else 1.0) * wave(50, 1, ROWS, 8)
    update = wave(25, 0.5, ROWS, 9)
    named = {"score": "reward", "length": "response_length", "kl": "kl", "loss": "policy_loss"}
    run = {key: learning(ROWS)[name] for name, key in named.items()}
    run |= {"timing/make_experience": experience, "timing/ppo_train": update}
    lines = [
        f"(PPOTrainer pid=7) INFO 11-03 09:01:34 ppo_trainer.py:412] ✨ Global step {i + 1}: "
        + str({key: round(float(values[i]), 5) for key, values in run.items()})
        for i in range(ROWS)
    ]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = told(tmp_path)[2]
    found = finding(said, RULE)
    assert (found is not None) == slow
    missing = finding(said, "logging-coverage-gap")
    assert missing is None or "time_per_step_s" not in missing["summary"]
    if found is not None:
        assert found["severity"] == "warning"
        assert said["answer"]["why"].startswith("Making the experience became slower")
