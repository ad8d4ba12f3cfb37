"""A grader that gives every answer of a batch one and the same score, and what looks like it and is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import finding, learning, wave
from tests.unit.reported import told

ROWS, SINCE = 200, 120
FIXED = "The grader gives every answer one fixed score"
AFTER = np.arange(ROWS) >= SINCE


def graded(folder: Path, score: np.ndarray, low: np.ndarray, high: np.ndarray, **more: np.ndarray) -> dict[str, Any]:
    columns = learning(ROWS) | {"score": score, "score_min": low, "score_max": high, **more}
    return told(verl(folder, columns, CONFIG))[2]


def ended_in(folder: Path, value: float, **more: np.ndarray) -> dict[str, Any]:
    """The scores vary, and from one row on all are one number."""
    score = np.where(AFTER, value, learning(ROWS)["score"])
    still = {"grad": np.where(AFTER, 0.0, 0.4), "loss": np.where(AFTER, 0.0, wave(0, 0.01, ROWS))}
    return graded(folder, score, np.where(AFTER, value, 0.0), np.where(AFTER, value, 1.0), **still, **more)


@pytest.mark.parametrize("value", [0.0, 0.5, -1.0])
def test_one_score_for_all_answers_of_a_batch_is_named_as_the_cause(value: float, tmp_path: Path) -> None:
    report = ended_in(tmp_path / "run", value)
    found = finding(report, "reward-function-fault")
    assert found is not None
    assert (found["causes"][0]["text"][: len(FIXED)], found["causes"][0]["status"]) == (FIXED, "supported")
    assert "length mean" in found["causes"][0]["because"]
    assert report["answer"]["why"].startswith(FIXED)


def test_answers_that_became_all_alike_prove_no_fixed_score(tmp_path: Path) -> None:
    """A policy that writes one answer gets one score for it."""
    length = np.where(AFTER, 12.0, wave(300, 5, ROWS, 7))
    report = ended_in(tmp_path / "run", 0.0, length=length, longest=np.where(AFTER, 12.0, 600.0))
    assert not report["answer"]["why"].startswith(FIXED)


def test_a_service_that_the_log_says_is_down_leads(tmp_path: Path) -> None:
    ended_in(tmp_path / "run", 0.0)
    lines = [f"WARNING reward: HTTP 503 Service Unavailable, step {step}" for step in range(SINCE, ROWS, 5)]
    with (tmp_path / "run" / "train.log").open("a", encoding="utf-8") as log:
        log.write("\n".join(lines) + "\n")
    report = told(tmp_path / "run")[2]
    found = finding(report, "reward-function-fault")
    assert found is not None
    assert found["causes"][0]["text"].startswith("The sandbox or the remote reward model is down")


@pytest.mark.parametrize("value", [0.5, 1.0, 0.1])
def test_one_score_from_the_first_row_on_is_no_floor_and_no_hard_task(value: float, tmp_path: Path) -> None:
    same, zero = np.full(ROWS, value), np.zeros(ROWS)
    report = graded(tmp_path / "run", same, same, same, grad=zero, loss=zero)
    assert finding(report, "reward-floor") is None
    found = finding(report, "reward-function-fault")
    assert found is not None
    assert found["severity"] == "critical"
    assert found["causes"][0]["text"].startswith(FIXED)
    assert report["verdict"]["because"][0] == "reward-function-fault"
    assert "too hard" not in report["answer"]["why"]


def test_no_success_at_all_is_still_a_floor(tmp_path: Path) -> None:
    zero = np.zeros(ROWS)
    report = graded(tmp_path / "run", zero, zero, zero, grad=zero, loss=zero)
    assert finding(report, "reward-floor") is not None
    assert finding(report, "reward-function-fault") is None


def test_a_task_that_is_solved_ends_with_one_score_for_all_and_no_fault(tmp_path: Path) -> None:
    score = np.minimum(1.0, 0.3 + np.arange(ROWS) / 120)
    low = np.where(score < 1.0, 0.0, 1.0)
    report = graded(tmp_path / "run", score, low, np.ones(ROWS), grad=np.where(score < 1.0, 0.4, 0.0))
    assert finding(report, "reward-function-fault") is None
