"""A first evaluation tells the model before training only if training had moved nothing by then."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from math import exp
from pathlib import Path
from typing import Any

import pytest

from tests.unit.reported import told

STEPS, LOGGED, EVERY, SAVED = 360, 4, 40, 80
Way = Callable[[float], float]
NOT_KNOWN = "Validation before training is not known"
AGAIN = "Start again from the model that training began with"


def written(folder: Path, seed: int, reward: Way, validation: Way, first: int = EVERY) -> Path:
    """A run that logs means of four steps, evaluates every 40 from step `first` on and saves every 80."""
    rng, lines = random.Random(seed), []
    for step in range(STEPS + 1):
        row: dict[str, float] = {"step": step}
        if step and step % LOGGED == 0:
            row["critic/score/mean"] = sum(reward(step - i) for i in range(LOGGED)) / LOGGED + rng.gauss(0, 0.012)
            row["actor/entropy"] = 0.6 + rng.gauss(0, 0.01)
        if step >= first and step % EVERY == 0:
            row["val-core/gsm8k/acc/mean@1"] = validation(step) + rng.gauss(0, 0.012)
        lines += [json.dumps(row)] if len(row) > 1 else []
        if step and step % SAVED == 0:
            (folder / f"global_step_{step}" / "actor").mkdir(parents=True)
            (folder / f"global_step_{step}" / "actor" / "model.pt").write_bytes(b"x" * 64)
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def gained_at_once(step: float) -> float:
    return 0.2 + 0.4 * (1 - exp(-step / 12))


def falls_from(start: float, begin: int = 160) -> Way:
    return lambda step: start - 0.25 * min(1.0, max(0.0, (step - begin) / 120))


def lost_at_once(step: float) -> float:
    return 0.5 - 0.45 * min(1.0, step / 20)


def kept(run: Path) -> tuple[str, str, dict[str, Any]]:
    """The line that names what to keep, the whole text, and what is told of the best step."""
    text, _, report = told(run)
    line = next(line for line in text.splitlines() if line.startswith("- Keep:"))
    return line, text, report["verdict"]["best_checkpoint"]


@pytest.mark.parametrize("seed", range(3))
def test_what_was_gained_before_the_first_evaluation_is_not_thrown_away(tmp_path: Path, seed: int) -> None:
    run = written(tmp_path, seed, lambda s: gained_at_once(s) + 0.25 * max(0.0, s - 160) / 200, falls_from(0.58))
    line, text, best = kept(run)
    assert best["beats_start"]
    assert best["step"] in (80, 160)
    assert line.startswith(f"- Keep: the checkpoint of step {best['step']} ")
    assert NOT_KNOWN in line
    assert "the train reward had risen" in line
    assert "is the start" not in line
    assert AGAIN not in text


@pytest.mark.parametrize("seed", range(3))
def test_a_start_that_was_evaluated_and_was_as_good_is_gone_back_to(tmp_path: Path, seed: int) -> None:
    """The same run, of which an evaluation at step 0 shows that its gain was none of validation."""
    run = written(tmp_path, seed, lambda s: gained_at_once(s) + 0.25 * max(0.0, s - 160) / 200, falls_from(0.58), 0)
    line, _, best = kept(run)
    assert not best["beats_start"]
    assert "nothing saved beats the start" in line
    assert NOT_KNOWN not in line


@pytest.mark.parametrize("seed", range(3))
def test_a_first_evaluation_before_anything_moved_is_the_start(tmp_path: Path, seed: int) -> None:
    run = written(tmp_path, seed, lambda s: 0.4 + 0.3 * max(0.0, s - 160) / 200, falls_from(0.45))
    line, _, best = kept(run)
    assert not best["beats_start"]
    assert "nothing saved beats the start" in line
    assert NOT_KNOWN not in line


@pytest.mark.parametrize("seed", range(3))
def test_a_first_evaluation_of_what_was_harmed_is_no_start(tmp_path: Path, seed: int) -> None:
    run = written(tmp_path, seed, lost_at_once, lambda s: lost_at_once(s) - 0.02)
    line, _, best = kept(run)
    assert not best["beats_start"]
    assert NOT_KNOWN in line
    assert "the train reward had fallen" in line
    assert "is the start" not in line


@pytest.mark.parametrize("seed", range(3))
def test_a_healthy_run_whose_best_beats_even_its_first_evaluation_needs_no_start(tmp_path: Path, seed: int) -> None:
    run = written(tmp_path, seed, gained_slowly, gained_slowly)
    line, _, best = kept(run)
    assert best["beats_start"]
    assert line.startswith("- Keep: the checkpoint of step ")
    assert NOT_KNOWN not in line


def gained_slowly(step: float) -> float:
    return 0.2 + 0.5 * (1 - exp(-step / 100))


@pytest.mark.parametrize("seed", range(3))
def test_training_is_compared_with_validation_from_the_first_evaluation_on(tmp_path: Path, seed: int) -> None:
    """All of the gain, of a reward from -1 to 1, came before the first evaluation, after which both stand."""
    run = written(tmp_path, seed, lambda s: 2 * gained_at_once(s) - 1, lambda s: gained_at_once(s) - 0.02)
    _, _, report = told(run)
    open_ids = {f["id"] for f in report["findings"] if f["status"] == "active" and f["severity"] != "info"}
    assert "train-val-divergence" not in {f["id"] for f in report["findings"]}, open_ids
