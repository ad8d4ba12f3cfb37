"""What rises for long before it is too much is dated where it set out, and not where a limit was crossed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import finding, wave
from tests.unit.reported import told
from tests.unit.rules.asked import asking

ROWS, SETS_OUT = 280, 90


def rise(first: float, last: float, over: int, noise: float, seed: int, at: int = SETS_OUT) -> np.ndarray:
    share = np.clip((np.arange(ROWS) - at) / over, 0, 1)
    return np.abs((first + (last - first) * share) * (1 + wave(0, noise, ROWS, seed)))


def learnt(falls_at: int, by: float = 0.5) -> dict[str, np.ndarray]:
    score = 0.25 + 0.45 * np.minimum(np.arange(ROWS) / 90, 1.0)
    score *= 1 - by * np.clip((np.arange(ROWS) - falls_at) / 60, 0, 1)
    return {
        "score": score + wave(0, 0.01, ROWS, 1),
        "entropy": wave(0.5, 0.01, ROWS, 2),
        "length": wave(400, 5, ROWS, 3),
        "grad": wave(0.4, 0.03, ROWS, 4),
    }


def judged(folder: Path, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    with asking("mismatch-high", "mismatch-growing", "staleness-high", "kl-up-reward-flat"):
        return told(verl(folder, columns, CONFIG))[2]


@pytest.mark.parametrize("over", [90, 140])
@pytest.mark.parametrize(
    ("key", "first", "last", "rule"),
    [
        ("training/rollout_probs_diff_mean", 0.003, 0.15, "mismatch-high"),
        ("staleness_mean", 0.6, 7.0, "staleness-high"),
    ],
)
def test_a_slow_rise_is_dated_where_it_set_out(
    key: str, first: float, last: float, rule: str, over: int, tmp_path: Path
) -> None:
    columns = learnt(SETS_OUT + over // 2)
    columns[key] = rise(first, last, over, 0.05, over)
    report = judged(tmp_path / "run", columns)
    found = finding(report, rule)
    assert found is not None, [f["id"] for f in report["findings"]]
    assert found["severity"] != "info"
    assert abs(found["onset_step"] - SETS_OUT) <= max(15, over // 5)


def test_what_grows_is_dated_by_itself_and_not_by_the_harm_beside_it(tmp_path: Path) -> None:
    columns = learnt(SETS_OUT + 80)
    columns["training/rollout_probs_diff_mean"] = rise(0.003, 0.15, 60, 0.05, 7)
    report = judged(tmp_path / "run", columns)
    for rule in ("mismatch-high", "mismatch-growing"):
        found = finding(report, rule)
        assert found is None or abs(found["onset_step"] - SETS_OUT) <= 15, rule


def test_a_jump_after_a_slow_rise_is_dated_at_the_jump(tmp_path: Path) -> None:
    jump = 180
    columns = learnt(jump)
    columns["training/rollout_probs_diff_mean"] = rise(0.002, 0.004, ROWS, 0.05, 8, at=0) + rise(0, 0.2, 3, 0, 9, jump)
    report = judged(tmp_path / "run", columns)
    found = finding(report, "mismatch-high")
    assert found is not None
    assert abs(found["onset_step"] - jump) <= 8


@pytest.mark.parametrize("set_out", [170, 200])
def test_kl_that_buys_nothing_is_dated_where_it_set_out(set_out: int, tmp_path: Path) -> None:
    columns = learnt(set_out, by=0.15)
    columns["kl"] = 0.02 * np.minimum(np.arange(ROWS) / 90, 1.0) + rise(0, 0.15, 50, 0.05, 5, set_out)
    found = finding(judged(tmp_path / "run", columns), "kl-up-reward-flat")
    assert found is not None
    assert abs(found["onset_step"] - set_out) <= 10
