"""Training that learns its few prompts by heart while validation counts otherwise: parts of an answer pay in training,
and only whole answers are right in validation, so that neither was ever near the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_no_reason_to_stop import AT, ROWS, learns, loud, page, pages, ramp
from tests.unit.diagnosis.written import wave
from tests.unit.rules.asked import asking

EVERY = 15


def run(train: np.ndarray, held_out: np.ndarray, seed: int = 0) -> dict[str, np.ndarray]:
    row = np.arange(ROWS)
    seen = np.where(row % EVERY == 0, held_out + wave(0, 0.025, ROWS, seed + 3), np.nan)
    return learns(reward_mean=train + wave(0, 0.03, ROWS, seed), eval_accuracy=np.clip(seen, 0, 1))


LEARNS = 0.44 + 0.18 * ramp(0, AT)
BY_HEART = 0.32 * ramp(AT, 20)


def asked(folder: Path, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    with asking("train-val-divergence"):
        return page(folder, columns)


def parted(found: dict[str, Any]) -> dict[str, Any] | None:
    return next((f for f in found["findings"] if f["id"] == "train-val-divergence" and f["severity"] != "info"), None)


@pytest.mark.parametrize("seed", range(3))
def test_training_alone_gains_since_a_step(seed: int, tmp_path: Path) -> None:
    held_out = 0.1 + 0.2 * ramp(0, AT) - 0.04 * ramp(AT, 60)  # no set falls beyond its noise
    with asking("train-val-divergence"):
        reports = list(pages(tmp_path, run(LEARNS + BY_HEART, held_out, seed), (AT + 90, AT + 120, ROWS)))
    for upto, found in reports:
        told = parted(found)
        assert told is not None, upto
        assert abs(told["onset_step"] - AT) <= 20, (upto, told["onset_step"])


@pytest.mark.parametrize("seed", range(3))
def test_validation_that_follows_on_its_own_scale_is_not_left_behind(seed: int, tmp_path: Path) -> None:
    held_out = 0.1 + 0.2 * ramp(0, AT) + 0.3 * ramp(AT, 40)
    with asking("train-val-divergence"):
        reports = list(pages(tmp_path, run(LEARNS + BY_HEART, held_out, seed), (AT + 60, AT + 100, ROWS)))
    for upto, found in reports:
        assert parted(found) is None, upto


@pytest.mark.parametrize("seed", range(3))
def test_a_gain_that_ends_in_both_leaves_none_behind(seed: int, tmp_path: Path) -> None:
    """Training gains less than before, and a harder validation next to nothing."""
    held_out = 0.1 + 0.2 * ramp(0, AT) + 0.01 * ramp(AT, 100)
    found = asked(tmp_path, run(LEARNS + 0.08 * ramp(AT, 100), held_out, seed))
    assert "train-val-divergence" not in loud(found)


@pytest.mark.parametrize("seed", range(3))
def test_a_validation_at_its_top_has_no_way_to_go(seed: int, tmp_path: Path) -> None:
    found = asked(tmp_path, run(LEARNS + BY_HEART, 0.5 + 0.46 * ramp(0, AT), seed))
    assert "train-val-divergence" not in loud(found)


@pytest.mark.parametrize("seed", range(3))
def test_training_that_comes_up_to_a_validation_at_its_end_is_not_ahead(seed: int, tmp_path: Path) -> None:
    """Both learn at the pace at which they began: validation, which knew more, is done sooner."""
    found = asked(tmp_path, run(0.2 + 0.48 * ramp(0, 240), 0.3 + 0.3 * ramp(0, 100), seed))
    assert "train-val-divergence" not in loud(found)
