"""A reward that is measured otherwise from a step on: what it passes, and what is still paid for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write

ROWS, AT = 220, 160
T = np.arange(ROWS)
SINCE = T + 1 >= AT
RIGHT = np.clip(0.3 + 0.55 * (1 - np.exp(-T / 60)) + wave(0, 0.05, ROWS, 1), 0.05, 0.97)
OF_TWO = np.sqrt(RIGHT * (1 - RIGHT))
FAR = 0.8 * (1 - np.exp(-T / 50)) * np.exp(wave(0, 0.1, ROWS, 2)) + 1e-3


def run(**columns: np.ndarray) -> dict[str, np.ndarray]:
    return learning(ROWS) | {"score": RIGHT} | columns


LEAPS = {
    "a bonus on rewards of 0 and 1": ({"score": RIGHT + 0.5 * SINCE, "reward_std": OF_TWO}, True),
    "above the highest reward of a batch": ({"score": RIGHT + 0.5 * SINCE, "score_max": np.ones(ROWS)}, True),
    "rewards of any size": ({"score": RIGHT + 0.5 * SINCE, "reward_std": wave(0.3, 0.02, ROWS, 3)}, False),
    "easy prompts": (
        {"score": (easy := np.where(SINCE, 0.98, 0.6 * RIGHT)), "reward_std": np.sqrt(easy * (1 - easy))},
        False,
    ),
}


@pytest.mark.parametrize(("columns", "passed"), LEAPS.values(), ids=list(LEAPS))
def test_a_mean_above_what_an_answer_could_earn_is_another_reward(
    columns: dict[str, np.ndarray], passed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody has to know the grader: mean and deviation of rewards of two values tell the higher one."""
    of = report(write(tmp_path / "run", run(**columns)), capsys, "--at", str(AT + 20))
    found = finding(of, "reward-scale-shift")
    assert (found is not None and found["severity"] == "warning") == passed
    if found is not None and passed:
        assert found["onset_step"] == AT
        assert "the most that an answer could earn until then" in found["summary"]


GRADED = {
    "ten times": np.where(SINCE, 10.0, 1.0) * RIGHT,
    "one more": RIGHT + 1.0 * SINCE,
}


@pytest.mark.parametrize("score", GRADED.values(), ids=list(GRADED))
@pytest.mark.parametrize("rows", [8, 40])
def test_a_distance_that_was_paid_for_is_no_fault_of_another_scale(
    score: np.ndarray, rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rewards of before count no more, or widen the error of those since: what they bought was bought."""
    of = report(write(tmp_path / "run", run(score=score, kl=FAR)), capsys, "--at", str(AT + rows))
    found = finding(of, "kl-runaway")
    assert found is None or found["severity"] != "critical"
    assert of["verdict"]["decision"].startswith("continue")


def test_a_distance_that_bought_nothing_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score = wave(0.3, 0.05, ROWS, 1) * np.where(SINCE, 10.0, 1.0)
    of = report(write(tmp_path / "run", run(score=score, kl=2 * FAR)), capsys, "--at", str(AT + 40))
    found = finding(of, "kl-runaway")
    assert found is not None
    assert found["severity"] == "critical"


@pytest.mark.parametrize("known", [False, True], ids=["no number", "a number"])
def test_a_kl_of_before_it_was_no_number_is_no_second_root(
    known: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a log with a row every five steps."""
    lost = {"kl": np.where(SINCE, np.nan, FAR), "loss": np.where(SINCE, np.nan, wave(0, 0.01, ROWS, 3))}
    columns = run(score=np.where(SINCE, 0.0, RIGHT), **({"kl": FAR * (1 + SINCE)} if known else lost))
    of = report(write(tmp_path / "run", {name: x[::5] for name, x in columns.items()}), capsys)
    loud = [f for f in of["findings"] if f["status"] == "active" and f["severity"] != "info"]
    assert ("kl-runaway" in {f["id"] for f in loud}) == known
