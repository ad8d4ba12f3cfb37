"""Answers that are cut at the limit: too small a limit, or answers that do not end? A report says which only where the
run shows it, and asks for a higher limit only where that would help."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import learning, report, wave, write

ROWS = 120
LIMIT = 4096
RAISE = "Raise the length limit"


def answer(folder: Path, columns: dict[str, np.ndarray], capsys: pytest.CaptureFixture[str]) -> tuple[str, list[str]]:
    """Why, and what to do, of a run with this limit."""
    write(folder, columns)
    limit = {"data.max_response_length": LIMIT, "actor_rollout_ref.rollout.temperature": 1.0}
    (folder / "config.json").write_text(json.dumps(limit))
    found: dict[str, Any] = report(folder, capsys)
    fixes = [fix["text"] for one in found["findings"][:2] for fix in one["fixes"]]
    return str(found["answer"]["why"]), fixes


def cut_all_along(mean: float, share: float) -> dict[str, np.ndarray]:
    return learning(ROWS) | {
        "score": wave(0.05, 0.01, ROWS, 21),
        "length": wave(mean, 4, ROWS, 22),
        "longest": np.full(ROWS, float(LIMIT)),
        "cut": np.clip(wave(share, 0.005, ROWS, 23), 0, 1),
    }


def test_answers_that_ended_before_need_no_higher_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = np.clip((np.arange(ROWS) - 50) / 20, 0, 1)
    run = learning(ROWS)
    run |= {
        "score": run["score"] * (1 - 0.9 * gone),
        "length": run["length"] * (1 - gone) + 4000 * gone,
        "longest": np.full(ROWS, float(LIMIT)),
        "cut": np.clip(run["cut"] + 0.95 * gone, 0, 1),
    }
    why, fixes = answer(tmp_path, run, capsys)
    assert why.startswith("Responses no longer end"), why
    assert "of the limit at the best reward" in why
    assert not [text for text in fixes if text.startswith(RAISE)], fixes


def test_answers_that_grew_into_the_limit_with_gain_need_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reasoning that paid until the limit cut it."""
    grown = np.clip(np.arange(ROWS) / 70, 0, 1)
    late = np.clip((np.arange(ROWS) - 70) / 10, 0, 1)
    run = learning(ROWS)
    run |= {
        "score": (0.2 + 0.5 * grown) * (1 - 0.8 * late) + wave(0, 0.015, ROWS, 24),
        "length": 900 + 2400 * grown + 500 * late + wave(0, 20, ROWS, 25),
        "longest": np.full(ROWS, float(LIMIT)),
        "cut": np.clip(run["cut"] + 0.6 * late, 0, 1),
    }
    why, fixes = answer(tmp_path, run, capsys)
    assert "no longer end" not in why
    assert [text for text in fixes if text.startswith(RAISE)], (why, fixes)


@pytest.mark.parametrize(
    ("mean", "share", "says", "raised"),
    [
        (0.7 * 4096 + 0.3 * 700, 0.7, "Responses never end", False),
        (0.7 * 4096 + 0.3 * 3200, 0.7, "Length limit too small for the task", True),
        (4090.0, 1.0, "The length limit is below what responses need", False),
    ],
)
def test_what_those_that_end_take_tells_which(
    mean: float, share: float, says: str, raised: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    why, fixes = answer(tmp_path, cut_all_along(mean, share), capsys)
    assert why.startswith(says), why
    assert any(text.startswith(RAISE) for text in fixes) is raised, fixes
