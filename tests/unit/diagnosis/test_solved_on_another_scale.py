"""A task that is solved, with a reward that nobody knows the ceiling of: it pays up to 2, or up to 100, and neither its
lowest nor its highest is logged. Validation tells that nearly every answer is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_no_reason_to_stop import AT, ROWS, evaluated, learns, page, pages, ramp
from tests.unit.diagnosis.written import wave

SOLVES = 1 - np.exp(-np.arange(ROWS) / 35)


def solved(pays: float, right: float = 0.985, **other: np.ndarray) -> dict[str, np.ndarray]:
    """Answers become certain and right, so that groups agree and entropy goes."""
    reward = pays * (0.78 + 0.21 * SOLVES + wave(0, 0.006, ROWS, 1))
    columns = {
        "reward_mean": reward,
        "reward_std": pays * (0.4 - 0.37 * SOLVES) * wave(1, 0.05, ROWS, 6),
        "frac_reward_zero_std": np.clip(0.15 + 0.77 * SOLVES + wave(0, 0.03, ROWS, 7), 0, 1),
        "entropy": (0.3 - 0.285 * SOLVES) * wave(1, 0.03, ROWS, 3),
        "grad_norm": (0.5 - 0.42 * SOLVES) * wave(1, 0.1, ROWS, 4),
        "response_length": wave(4, 0.02, ROWS, 5),
        "eval_accuracy": evaluated(0.7 + (right - 0.7) * SOLVES + wave(0, 0.004, ROWS, 8)),
    }
    return learns(**columns | other)


def levels(found: dict[str, Any]) -> dict[str, str]:
    return {f["id"]: f["severity"] for f in found["findings"] if f["status"] == "active"}


@pytest.mark.parametrize("pays", [2.0, 100.0])
def test_a_solved_run_has_no_critical_finding(pays: float, tmp_path: Path) -> None:
    for upto, found in pages(tmp_path, solved(pays), (180, 240, ROWS)):
        seen = levels(found)
        assert "critical" not in seen.values(), (upto, seen)
        assert seen.get("entropy-collapse") != "warning", (upto, seen)
        assert "reward-saturated" in seen, upto
        assert found["verdict"]["because"][:1] == ["reward-saturated"], found["verdict"]
        assert "Learning rate too high" not in found["answer"]["why"], upto


def test_validation_at_two_of_three_solves_nothing(tmp_path: Path) -> None:
    seen = levels(page(tmp_path, solved(2.0, right=0.72)))
    assert "critical" in seen.values(), seen


def test_a_validation_of_before_the_fall_excuses_nothing(tmp_path: Path) -> None:
    """The reward is lost since the newest evaluation."""
    columns = solved(2.0)
    lost = 1 - 0.9 * ramp(AT, 10)
    columns["reward_mean"] *= lost
    columns["eval_accuracy"] = np.where(np.arange(ROWS) < AT, columns["eval_accuracy"], np.nan)
    seen = levels(page(tmp_path, columns, AT + 60))
    assert "critical" in seen.values(), seen
    assert "reward-saturated" not in seen


def test_parts_that_are_counted_with_their_weight_are_no_shares(tmp_path: Path) -> None:
    """The answer pays 0.3 of 1 at most, and earns it."""
    parts = {"reward/answer": 0.3 * (0.7 + 0.28 * SOLVES), "reward/format": 0.7 * (0.85 + 0.145 * SOLVES)}
    noisy = {name: x + wave(0, 0.004, ROWS, 9 + at) for at, (name, x) in enumerate(parts.items())}
    seen = levels(page(tmp_path, solved(1.0, reward_mean=sum(noisy.values()), **noisy)))
    assert "critical" not in seen.values(), seen
    assert "entropy-collapse" not in seen or seen["entropy-collapse"] == "info", seen


@pytest.mark.parametrize("upto", [90, 150, 220])
def test_groups_agree_as_their_answers_become_right(upto: int, tmp_path: Path) -> None:
    """The reward still gains: that more groups agree, and that entropy goes, is how it is learnt."""
    learnt = np.arange(ROWS) / ROWS
    columns = solved(1.0, eval_accuracy=evaluated(0.2 + 0.6 * learnt + wave(0, 0.02, ROWS, 8)))
    columns["reward_mean"] = 0.4 + 0.5 * learnt + wave(0, 0.012, ROWS, 1)
    columns["frac_reward_zero_std"] = np.clip(0.02 + 0.5 * learnt + wave(0, 0.03, ROWS, 7), 0, 1)
    columns["entropy"] = 0.8 * np.exp(-6 * learnt) * wave(1, 0.03, ROWS, 3) + 0.09
    assert levels(page(tmp_path, columns, upto)).get("entropy-collapse", "info") == "info"
