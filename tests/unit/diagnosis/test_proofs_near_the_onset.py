"""A cause is proven by what happened when its effect began, not by what had been so for long, and by no number that
leaves the effect open."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.reported import told

Row = dict[str, Any]


def findings(folder: Path, rows: int, row: Callable[[int, random.Random], Row]) -> dict[str, Row]:
    draw = random.Random(4)
    folder.mkdir(parents=True)
    lines = [
        json.dumps({"step": step, "grad_norm": 0.4 + draw.gauss(0, 0.03)} | row(step, draw)) for step in range(1, rows)
    ]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    return {f["id"]: f for f in told(folder)[2]["findings"] if f["status"] == "active"}


def status(finding: Row, begins: str) -> str:
    return next(cause["status"] for cause in finding["causes"] if cause["text"].startswith(begins))


@pytest.mark.parametrize(("at", "proven"), [(60, False), (150, True)])
def test_answers_that_became_shorter_ninety_steps_before_did_not_cost_the_reward(
    at: int, proven: bool, tmp_path: Path
) -> None:
    def row(step: int, draw: random.Random) -> Row:
        return {
            "reward": 0.3 + 0.4 * min(step, 150) / 150 - 0.3 * (step > 150) + draw.gauss(0, 0.02),
            "completions/mean_length": (400.0 if step <= at else 240.0) + draw.gauss(0, 6),
            "entropy": 0.8 + draw.gauss(0, 0.01),
        }

    found = findings(tmp_path / "run", 220, row)
    fallen = found.get("reward-collapse") or found["reward-peak-decline"]
    assert (status(fallen, "Answers end sooner") == "supported") == proven


@pytest.mark.parametrize(("cut", "proven"), [(0.5, False), (0.97, True)])
def test_cut_answers_explain_a_floor_if_nearly_all_are_cut(cut: float, proven: bool, tmp_path: Path) -> None:
    def row(step: int, draw: random.Random) -> Row:
        return {"reward": 0.0, "completions/clipped_ratio": cut + draw.gauss(0, 0.01), "completions/mean_length": 900.0}

    floor = findings(tmp_path / "run", 160, row)["reward-floor"]
    assert (status(floor, "Responses are truncated") == "supported") == proven


@pytest.mark.parametrize(("rate", "proven"), [(1e-8, True), (3e-4, False)])
def test_a_rate_above_the_usual_band_is_not_too_low(rate: float, proven: bool, tmp_path: Path) -> None:
    def row(step: int, draw: random.Random) -> Row:
        return {
            "reward": 0.4 + draw.gauss(0, 0.02),
            "learning_rate": rate,
            "kl": 0.0004 + abs(draw.gauss(0, 5e-5)),
            "entropy": 1.2 + draw.gauss(0, 0.02),
        }

    flat = findings(tmp_path / "run", 300, row)["reward-flat-from-start"]
    assert (status(flat, "Learning rate too low") == "supported") == proven


@pytest.mark.parametrize("at_once", [True, False])
def test_groups_that_agree_from_one_row_on_are_not_laid_to_an_entropy_that_fell_slowly(
    at_once: bool, tmp_path: Path
) -> None:
    def row(step: int, draw: random.Random) -> Row:
        slowly = min(1.0, max(0.0, (step - 60) / 120))
        dead = float(step > 200) if at_once else slowly
        return {
            "reward": 0.5 + draw.gauss(0, 0.02),
            "entropy": 2.0 * (0.3 ** min(1.0, step / 90)) if at_once else 2.0 * 0.05**slowly,
            "frac_reward_zero_std": min(1.0, 0.1 + 0.88 * dead + abs(draw.gauss(0, 0.01))),
            "completions/mean_length": 300 + draw.gauss(0, 9),
        }

    alike = findings(tmp_path / "run", 280, row)["zero-variance-groups"]
    assert (status(alike, "Entropy has fallen") == "supported") != at_once


@pytest.mark.parametrize(("cut", "before"), [(0.98, True), (0.6, False)])
def test_the_best_step_lies_before_hardly_any_answer_ends(cut: float, before: bool, tmp_path: Path) -> None:
    def row(step: int, draw: random.Random) -> Row:
        late = min(1.0, max(0.0, (step - 150) / 10))
        return {
            "reward": 0.3 + 0.3 * min(step, 150) / 150 + 0.6 * late + draw.gauss(0, 0.02),
            "completions/mean_length": 200 + 800 * cut * late + draw.gauss(0, 6),
            "completions/clipped_ratio": min(1.0, 0.01 + cut * late),
            "entropy": 0.8 + draw.gauss(0, 0.01),
        }

    findings(tmp_path / "run", 260, row)
    best = told(tmp_path / "run")[2]["verdict"]["best_checkpoint"]
    assert (best["step"] <= 150) == before


@pytest.mark.parametrize(
    ("line", "proven"),
    [
        ("WARNING grader: read timeout after 30 s, the answer gets 0", True),
        ("WARNING huggingface_hub.utils._http: ReadTimeoutError(host='huggingface.co'): Read timed out.", False),
        ("WARNING wandb: Network error (ReadTimeout), entering retry loop.", False),
    ],
)
def test_a_time_out_of_something_else_is_none_of_the_reward(line: str, proven: bool, tmp_path: Path) -> None:
    draw, lines = random.Random(5), []
    for step in range(1, 200):
        fallen = step > 150
        lines += [line] if step == 149 else []
        row = {
            "reward": 0.8 - 0.6 * fallen + draw.gauss(0, 0.03),
            "entropy": 0.8 + draw.gauss(0, 0.02),
            "grad_norm": 0.4 + draw.gauss(0, 0.03),
        }
        lines.append(f"step: {step} " + " ".join(f"{name}: {value:.4f}" for name, value in row.items()))
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    found = {f["id"]: f for f in told(tmp_path)[2]["findings"]}
    fallen = found.get("reward-collapse") or found["reward-peak-decline"]
    assert (status(fallen, "The reward service fails") == "supported") == proven
