"""What is known of a run from its first row on, and costs it something though the reward rises: a reference that is
another model, prompts that the model can do already."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.reported import told

ROWS = 200


def run(folder: Path, **more: np.ndarray) -> dict[str, Any]:
    return told(verl(folder, learning(ROWS) | more, CONFIG))[2]


def text(report: dict[str, Any]) -> str:
    return str(report["verdict"]["text"])


@pytest.mark.parametrize("level", [0.12, 0.6, 2.0])
def test_kl_that_no_update_can_have_made_is_told_beside_a_gain(level: float, tmp_path: Path) -> None:
    report = run(tmp_path / "run", kl=wave(level, 0.03 * level, ROWS, 3))
    assert "All clear" not in text(report)
    assert "KL" in text(report)
    assert "first" in text(report)
    assert "reference" in report["answer"]["why"]


def test_kl_of_a_good_start_is_not_told(tmp_path: Path) -> None:
    """Noise of an estimator that may be negative, and a KL that rises fast from 0."""
    rows = np.arange(ROWS)
    for i, kl in enumerate((wave(0.0, 0.004, ROWS, 3) + 1e-4 * rows, 0.1 * (1 - np.exp(-rows / 15)))):
        assert text(run(tmp_path / f"run{i}", kl=kl)).startswith("All clear")


def test_kl_that_leaps_within_the_first_rows_is_a_drift(tmp_path: Path) -> None:
    """A run that is logged now and then: small in its first row, and at once where it stays."""
    kl = wave(5.0, 0.4, ROWS, 3)
    kl[0] = 0.27
    found = [f["id"] for f in run(tmp_path / "run", kl=kl)["findings"]]
    assert "reference-mismatch-at-start" not in found


def test_kl_of_a_log_that_begins_later_is_not_told(tmp_path: Path) -> None:
    columns = learning(ROWS + 100) | {"kl": wave(0.6, 0.02, ROWS + 100, 3)}
    folder = write(tmp_path / "run", columns)
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[100:]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert "reference seems" not in text(told(folder)[2])


@pytest.mark.parametrize("agree", [0.85, None])
def test_prompts_that_are_solved_from_the_first_row_are_told(agree: float | None, tmp_path: Path) -> None:
    score = np.clip(wave(0.965, 0.006, ROWS, 4) + np.linspace(0, 0.015, ROWS), 0, 1)
    more = {} if agree is None else {"frac_reward_zero_std": np.clip(wave(agree, 0.02, ROWS, 5), 0, 1)}
    bounds = {"score_min": np.zeros(ROWS), "score_max": np.ones(ROWS)}
    report = run(tmp_path / "run", score=score, **bounds, **more)
    assert "All clear" not in text(report)
    assert "from the start" in text(report) or "since step 1" in text(report)
    assert "too easy" in report["answer"]["why"]


def test_a_task_that_was_learnt_is_not_told_as_too_easy(tmp_path: Path) -> None:
    score = 0.5 + 0.47 * (1 - np.exp(-np.arange(ROWS) / 40)) + wave(0, 0.01, ROWS, 4)
    bounds = {"score_min": np.zeros(ROWS), "score_max": np.ones(ROWS)}
    assert text(run(tmp_path / "run", score=np.clip(score, 0, 1), **bounds)).startswith("All clear")


def drifted(folder: Path, first: float, every: int) -> str:
    """The first answer to "why" of a run whose KL runs away from `first`, logged every so many steps."""
    rows = np.arange(ROWS)
    kl = first + 2.6 * (1 - np.exp(-rows / 25)) + wave(0, 0.02, ROWS, 3)
    folder = write(folder, learning(ROWS) | {"kl": kl, "score": wave(0.5, 0.02, ROWS, 1)})
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    moved = [json.dumps(row | {"step": row["step"] * every}) for row in lines]
    (folder / "metrics.jsonl").write_text("\n".join(moved) + "\n", encoding="utf-8")
    return str(told(folder)[2]["answer"]["why"])


@pytest.mark.parametrize("every", [1, 5, 10, 20])
def test_kl_that_updates_may_have_made_proves_nothing_of_the_reference(every: int, tmp_path: Path) -> None:
    """What the first row holds is the work of all steps before it, and of several updates within the first."""
    assert "reference is not the model" not in drifted(tmp_path / "run", 0.12, every)


@pytest.mark.parametrize("every", [1, 10])
def test_kl_that_stands_high_from_the_first_row_leads_to_its_runaway(every: int, tmp_path: Path) -> None:
    assert "eference is not the model" in drifted(tmp_path / "run", 1.6, every)
