"""A run whose reward is said to have risen is not told that nothing saved beats its start, for want of evaluations or
because its batches are small; a run that gained nothing is told so."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.draws import some
from tests.unit.reported import told

STEPS = 300
Way = Callable[[int], float]


def rises(step: int) -> float:
    return 0.35 + 0.2 * step / STEPS


def level(step: int) -> float:
    return 0.35


def written(
    folder: Path, seed: int, reward: Way, noise: float, validation: Way | None = None, noise_there: float = 0.06
) -> Path:
    """A run with a checkpoint every 50 steps and, if `validation` is given, an evaluation there."""
    rng, rows = random.Random(seed), []
    for step in range(1, STEPS + 1):
        row = {
            "step": step,
            "critic/score/mean": reward(step) + rng.gauss(0, noise),
            "actor/grad_norm": 0.4 + rng.gauss(0, 0.05),
            "actor/entropy": 0.6 - 0.1 * step / STEPS + rng.gauss(0, 0.01),
        }
        if validation is not None and step % 50 == 0:
            row["val-core/gsm8k/acc/mean@1"] = validation(step) + rng.gauss(0, noise_there)
        rows.append(row)
        if step % 50 == 0:
            (folder / f"global_step_{step}" / "actor").mkdir(parents=True)
            (folder / f"global_step_{step}" / "actor" / "model.pt").write_bytes(b"x" * 64)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def best(run: Path) -> tuple[str, bool]:
    """The line that names what to keep, and whether it is worth keeping."""
    text, _, report = told(run)
    line = next(line for line in text.splitlines() if line.startswith("- Keep:"))
    return line, bool(report["verdict"]["best_checkpoint"]["beats_start"])


@pytest.mark.parametrize("seed", range(4))
def test_few_evaluations_that_rise_beside_the_reward(tmp_path: Path, seed: int) -> None:
    line, beats = best(written(tmp_path, seed, rises, 0.08, rises))
    assert beats
    assert line.startswith("- Keep: the checkpoint of step ")


@pytest.mark.parametrize("seed", some(range(4)))
def test_a_rise_in_small_batches(tmp_path: Path, seed: int) -> None:
    line, beats = best(written(tmp_path, seed, rises, 0.2))
    assert beats
    assert line.startswith("- Keep: the checkpoint of step ")


@pytest.mark.long
def test_of_runs_that_gain_nothing_next_to_none_has_a_checkpoint_that_beats_the_start(tmp_path: Path) -> None:
    beats = 0
    for seed in range(10):
        folder = tmp_path / str(seed)
        beats += best(written(folder, seed, level, 0.1, level if seed % 2 else None))[1]
    assert beats <= 1


@pytest.mark.long
def test_a_rise_that_validation_has_nothing_of_makes_no_checkpoint_better(tmp_path: Path) -> None:
    """Most of what there was to gain, and validation where it began: of the six evaluations of one run in 25 chance
    makes one that is better."""
    beats = 0
    for seed in range(8):
        folder = tmp_path / str(seed)
        beats += best(written(folder, seed, lambda step: 0.3 + 0.6 * step / STEPS, 0.03, lambda step: 0.1, 0.01))[1]
    assert beats <= 2


def test_a_rise_before_a_fault_counts(tmp_path: Path) -> None:
    """The reward breaks at step 200 for good: what was saved before is better than the start."""
    line, beats = best(
        written(
            tmp_path,
            3,
            lambda step: rises(3 * step // 2) if step < 200 else 0.0,
            0.02,
            lambda step: rises(3 * step // 2) if step < 200 else 0.0,
            0.01,
        )
    )
    assert beats
    assert "step 150" in line or "step 100" in line


def said(run: Path) -> list[str]:
    _, _, report = told(run)
    return [f["severity"] for f in report["findings"] if f["id"] == "train-val-divergence"]


def test_six_evaluations_show_that_validation_has_nothing_of_a_gain(tmp_path: Path) -> None:
    found = []
    for seed in range(5):
        folder = tmp_path / str(seed)
        found += said(written(folder, seed, lambda step: 0.3 + 0.5 * step / STEPS, 0.04, lambda step: 0.3, 0.02))
    assert len(found) >= 4


@pytest.mark.parametrize(
    "validation",
    [
        pytest.param(lambda step: 0.28 + 0.38 * step / STEPS, id="all of it"),
        pytest.param(lambda step: 0.28 + 0.15 * step / STEPS, id="a part of it"),
        pytest.param(lambda step: 0.28 + 0.38 * min(1.0, step / 60), id="soon"),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_validation_that_gains_too_is_not_said_to_stay_behind(tmp_path: Path, validation: Way, seed: int) -> None:
    assert said(written(tmp_path, seed, lambda step: 0.3 + 0.4 * step / STEPS, 0.04, validation, 0.03)) == []
