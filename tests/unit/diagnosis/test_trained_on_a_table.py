"""Trainings of a table of logits: what they log follows from their updates, and nobody has drawn it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.diagnosis.tabular import Training
from tests.unit.reported import told


def judged(folder: Path, training: Training) -> dict[str, Any]:
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in training.rows()))
    return told(folder)[2]


def loud(page: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f["id"]: f for f in page["findings"] if f["severity"] != "info" and f["status"] == "active"}


@pytest.mark.parametrize("evaluates", [10, 0])
@pytest.mark.parametrize(
    ("rate", "pull", "steps"), [(0.5, 0.02, 160), (1.0, 0.0, 160), (2.0, 0.02, 110), (1.5, 0.05, 200)]
)
def test_a_table_that_learns_is_let_run(rate: float, pull: float, steps: int, evaluates: int, tmp_path: Path) -> None:
    """It ends 2 to 3 nats from its reference, as its answers were drawn from 16 at the start: that is no harm."""
    page = judged(tmp_path, Training(rate=rate, pull=pull, steps=steps, evaluates=evaluates, seed=steps))
    assert page["metrics"]["kl_ref"]["last"] > 1.5
    assert set(loud(page)) <= {"reward-saturated"}
    assert page["verdict"]["decision"] in ("continue", "continue-watch") or "reward-saturated" in loud(page)


@pytest.mark.parametrize("seed", [10, 11, 12, 13, 14])
@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("sign", "the sign of the advantage or of a term of the loss was turned"),
        ("entropy", "The loss pays for entropy"),
    ],
)
def test_the_cause_of_a_collapse_leads(fault: str, cause: str, seed: int, tmp_path: Path) -> None:
    page = judged(tmp_path, Training(fault=fault, at=90, steps=260, seed=seed))
    collapse = loud(page)["reward-collapse"]
    assert cause in collapse["causes"][0]["text"]
    assert collapse["causes"][0]["status"] == "supported"
    assert 85 <= collapse["onset_step"] <= 110


@pytest.mark.parametrize("seed", [10, 11])
def test_a_grader_that_is_down_stops_no_training(seed: int, tmp_path: Path) -> None:
    page = judged(tmp_path, Training(fault="grader", at=90, seed=seed))
    assert page["verdict"]["decision"] == "pause-and-fix"
    assert loud(page)["reward-function-fault"]["onset_step"] == 90
