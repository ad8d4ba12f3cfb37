"""Validation that falls from its best: told in time, dated where it left its best, quiet of sets that only jump; and no
words beside it that say otherwise."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.rules.catalogue import rules
from rltui.rules.falls import drifted, fallen
from tests.draws import some
from tests.unit.reported import told

STEPS = 300
EVERY = 20


def written(folder: Path, held_out: list[float], seed: int) -> Path:
    """The reward rises all the way, as a flawed one does while the task is lost."""
    rng = random.Random(seed)
    rows = []
    for i in range(STEPS + 1):
        row: dict[str, Any] = {"step": i, "reward": 0.2 + 0.7 * i / STEPS + rng.gauss(0, 0.03), "kl": 0.0004 * i}
        if i % EVERY == 0:
            row["eval_accuracy"] = held_out[i // EVERY]
        rows.append(row)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize("seed", some(range(3)))
def test_a_fall_that_four_evaluations_show_is_told_and_dated(tmp_path: Path, seed: int) -> None:
    rng = random.Random(100 + seed)
    rise = [0.15 + 0.45 * min(1.0, i / 6) for i in range(10)]  # at its best from step 120 to 180
    held_out = [v + rng.gauss(0, 0.04) for v in rise] + [0.45, 0.28, *[0.15 + rng.gauss(0, 0.02) for _ in range(4)]]
    text, _, found = told(written(tmp_path, held_out, seed))
    loud = {f["id"]: f for f in found["findings"] if f["status"] == "active" and f["severity"] != "info"}
    assert "train-val-divergence" in loud
    assert abs(loud["train-val-divergence"]["onset_step"] - 190) <= 1.5 * EVERY
    assert found["verdict"]["decision"] in ("stop-use-best", "abort-now")
    assert "validation holds" not in text.lower()


@pytest.mark.parametrize("seed", range(3))
def test_what_no_check_calls_a_fall_is_not_said_to_hold(tmp_path: Path, seed: int) -> None:
    """The newest evaluations are lower, too few of them to say that it is lost."""
    rng = random.Random(200 + seed)
    held_out = [*(0.2 + 0.4 * min(1.0, i / 6) + rng.gauss(0, 0.02) for i in range(14)), 0.25, 0.2]
    text, _, found = told(written(tmp_path, held_out, seed))
    assert "validation holds" not in text.lower()
    assert "validation up" not in text.lower()
    assert found["verdict"]["decision"] != "abort-now"


def test_how_often_a_level_validation_is_said_to_fall() -> None:
    """Looked at after each of 40 evaluations, as a run that is followed is."""
    p, rng = rules()["val-regression"].values(), np.random.default_rng(77)
    alarms = 0
    for of in range(200):
        prompts = (30, 64, 200, 1000)[of % 4]
        x = rng.binomial(prompts, 0.4, 40) / prompts
        alarms += any(fallen(x[:n], p) is not None for n in range(7, 41))
    assert alarms <= 14  # 5 % of 200, and two standard errors


@pytest.mark.parametrize(("evaluated", "seed"), [(60, 0), (60, 1), (60, 2), (90, 3)])
def test_a_fall_stands_however_many_evaluations_follow(tmp_path: Path, evaluated: int, seed: int) -> None:
    """A rise, a fall and a long level are no noise that carries on from one evaluation to the next."""
    rng = random.Random(seed)
    rows = []
    for i in range(evaluated):
        level = 0.4 + 0.2 * min(1.0, i / 6) - 0.2 * min(1.0, max(0.0, (i - 8) / 3))
        rows.append({"step": 2 * i + 1, "reward": 0.3 + 0.003 * i + rng.gauss(0, 0.03)})
        rows.append({"step": 2 * i + 2, "reward": 0.3 + 0.003 * i + rng.gauss(0, 0.03)})
        rows[-2]["eval_accuracy"] = level + rng.gauss(0, 0.02)
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, _, found = told(tmp_path)
    assert "val-regression" in {f["id"] for f in found["findings"] if f["status"] == "active"}
    assert found["verdict"]["decision"] != "continue"


@pytest.mark.parametrize("carries", [0.5, 0.7])
def test_how_often_a_level_whose_noise_carries_on_is_said_to_drift_down(carries: float) -> None:
    """Dense evaluations of one set: 90 to 300 of them, the newest 100 looked at every third time."""
    p, rng = rules()["val-regression"].values(), np.random.default_rng(5)
    alarms = 0
    for _ in range(40):
        x = np.full(300, 0.5)
        for i, new in enumerate(rng.normal(0, 0.02 * (1.0 - carries**2) ** 0.5, 299)):
            x[i + 1] = 0.5 + carries * (x[i] - 0.5) + new
        alarms += any(drifted(x[:n][-100:], p) is not None for n in range(90, 301, 3))
    assert alarms <= 8


def test_a_rise_and_fall_of_few_evaluations_is_seen_as_often_as_the_page_says() -> None:
    """A rise, and a fall by half as much, over 12 evaluations; looked at after each, as a run that is followed is. By
    neighbours alone, which the rise and the fall move apart, it was seen in fewer than half."""
    p, rng = rules()["val-regression"].values(), np.random.default_rng(11)
    t, seen = np.arange(1, 13) / 12, 0
    for _ in range(100):
        x = np.where(t < 0.5, 0.23 + 0.44 * t, 0.45 - 0.22 * (t - 0.5)) + 0.012 * rng.normal(size=12)
        seen += any(fallen(x[:n], p) is not None for n in range(7, 13))
    assert seen >= 62
