"""A validation that falls slowly, which no few of its noisy evaluations show, is told; one that stands or rises is not;
and no fall is dated before the best that its own sentence names."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.rules.bends import bend
from rltui.rules.catalogue import rules
from rltui.rules.falls import fall_of
from tests.unit.reported import told
from tests.unit.rules.asked import asking

STEPS = 480
EVERY = 6
NOISE = 0.025
Way = Callable[[float], float]


def held(step: float) -> float:
    return 0.3 + 0.25 * (1 - exp(-step / 70))


def slowly_lost(step: float) -> float:
    return held(step) - 0.13 * max(0.0, step - 160) / (STEPS - 160)


def written(folder: Path, seed: int, validation: Way, every: int = EVERY, noise: float = NOISE) -> Path:
    """The train reward rises all the way."""
    rng, lines = random.Random(seed), []
    for step in range(1, STEPS + 1):
        row: dict[str, Any] = {"step": step, "critic/score/mean": 0.3 + 0.45 * step / STEPS + rng.gauss(0, 0.02)}
        if step % every == 0 or step == 1:
            row["val-core/gsm8k/acc/mean@1"] = validation(step) + rng.gauss(0, noise)
        lines.append(json.dumps(row))
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def judged(run: Path) -> tuple[str, dict[str, Any]]:
    with asking("val-regression", "train-val-divergence"):
        text, _, report = told(run)
    return text, report


def fell(report: dict[str, Any]) -> list[dict[str, Any]]:
    loud = [f for f in report["findings"] if f["status"] == "active" and f["severity"] != "info"]
    return [f for f in loud if f["id"] in ("val-regression", "train-val-divergence")]


@pytest.mark.parametrize("seed", range(3))
def test_a_slow_fall_of_many_evaluations_is_told(tmp_path: Path, seed: int) -> None:
    text, report = judged(written(tmp_path, seed, slowly_lost))
    assert fell(report)
    assert "All clear" not in text


@pytest.mark.parametrize("seed", range(3))
def test_as_many_evaluations_that_hold_tell_no_fall(tmp_path: Path, seed: int) -> None:
    assert not [f for f in fell(judged(written(tmp_path, seed, held))[1]) if f["id"] == "val-regression"]


def test_of_slow_falls_most_are_seen_and_of_levels_next_to_none() -> None:
    params = tuple((name, one.value) for name, one in rules()["val-regression"].params.items())
    rng, steps = np.random.default_rng(7), np.arange(80) * EVERY
    falls, holds = (np.array([way(step) for step in steps]) for way in (slowly_lost, held))
    seen = sum(
        fall_of((falls + NOISE * rng.standard_normal(80)).tobytes(), params, 1, False) is not None for _ in range(40)
    )
    alarms = sum(
        fall_of((holds + NOISE * rng.standard_normal(80)).tobytes(), params, 1, False) is not None for _ in range(40)
    )
    assert seen >= 34
    assert alarms <= 1


def test_what_never_falls_has_no_bend_and_what_turns_has_it_there() -> None:
    assert bend(np.arange(30.0), 0.1) is None
    turned = bend(np.concatenate((np.arange(20.0), 19.0 - np.arange(1.0, 20.0))), 0.1)
    assert turned is not None
    assert abs(turned.at - 19) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_no_fall_begins_before_the_best_that_its_sentence_names(tmp_path: Path, seed: int) -> None:
    """Validation is left behind by the train reward for long, and then falls."""
    run = written(tmp_path, seed, lambda s: 0.3 + 0.2 * min(1.0, s / 240) - 0.2 * max(0.0, s - 300) / 180, 12, 0.015)
    found = fell(judged(run)[1])
    assert found
    for finding in found:
        named = re.search(r"(?:peaked at|fell from) \S+ at step (\d+)", finding["summary"])
        assert named is None or finding["onset_step"] >= int(named[1])
