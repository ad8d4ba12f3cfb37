"""A mere note whose metric never moved, or moved only afterwards, is the cause of nothing that begins later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import finding, learning, wave
from tests.unit.reported import told

ROWS, AT = 300, 220
APART = "Trainer and sampler disagree, or rollouts are stale"


def run(folder: Path, gap: np.ndarray, key: str, at: int = AT, **config: float) -> dict[str, Any]:
    columns = learning(ROWS)
    gone = np.clip((np.arange(ROWS) - at) / 4, 0, 1)
    columns["score"] = columns["score"] * (1 - gone)
    columns["entropy"] = wave(0.6, 0.01, ROWS, 2)
    columns["kl"] = wave(0.01, 0.0005, ROWS, 12)
    columns[key] = gap
    return told(verl(folder, columns, CONFIG | config))[2]


def status(report: dict[str, Any], rule: str = "reward-collapse") -> str:
    found = finding(report, rule)
    assert found is not None, [f["id"] for f in report["findings"]]
    return next(str(c["status"]) for c in found["causes"] if c["text"].startswith(APART))


@pytest.mark.parametrize(
    ("key", "level"), [("training/rollout_probs_diff_mean", 0.007), ("rollout_corr/kl", 0.002), ("staleness_mean", 1.4)]
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_small_gap_that_never_moved_explains_no_collapse(key: str, level: float, seed: int, tmp_path: Path) -> None:
    report = run(tmp_path / "run", wave(level, level / 30, ROWS, seed), key)
    assert status(report) == "contradicted"
    assert APART not in report["answer"]["why"]


def test_a_gap_that_grows_as_the_reward_falls_does(tmp_path: Path) -> None:
    since = np.clip((np.arange(ROWS) - AT + 30) / 30, 0, 1)
    report = run(tmp_path / "run", wave(0.006, 0.0002, ROWS) + 0.2 * since, "training/rollout_probs_diff_mean")
    assert status(report) == "supported"


def test_a_gap_that_was_loud_all_along_may_have_led_to_it(tmp_path: Path) -> None:
    report = run(tmp_path / "run", wave(5.0, 0.2, ROWS), "staleness_mean")
    assert status(report) == "supported"


@pytest.mark.parametrize(("key", "level"), [("training/rollout_probs_diff_mean", 0.007), ("rollout_corr/kl", 0.002)])
def test_a_small_gap_of_the_first_steps_explains_no_early_collapse(key: str, level: float, tmp_path: Path) -> None:
    report = run(tmp_path / "run", wave(level, level / 30, ROWS), key, at=80)
    assert status(report) == "contradicted"
    assert APART not in report["answer"]["why"]


def test_a_gap_that_only_follows_the_collapse_did_not_begin_it(tmp_path: Path) -> None:
    after = np.clip((np.arange(ROWS) - 120) / 30, 0, 1)
    report = run(tmp_path / "run", wave(0.002, 0.0001, ROWS) + 0.004 * after, "rollout_corr/kl", at=80)
    assert status(report) == "contradicted"


def test_a_gap_that_grows_before_an_early_collapse_may_have(tmp_path: Path) -> None:
    before = np.clip((np.arange(ROWS) - 50) / 30, 0, 1)
    report = run(tmp_path / "run", wave(0.002, 0.0001, ROWS) + 0.006 * before, "rollout_corr/kl", at=80)
    assert status(report) == "supported"


def test_a_gap_that_is_dated_after_the_collapse_does_not_lead(tmp_path: Path) -> None:
    """Dates err by some steps, so it may have been first: it is not taken for proof, and a rate above the usual
    band that had done no harm for long is none either."""
    after = np.clip((np.arange(ROWS) - AT - 6) / 4, 0, 1)
    gap, rate = wave(0.002, 0.0001, ROWS) + 0.05 * after, {"actor_rollout_ref.actor.optim.lr": 2e-5}
    report = run(tmp_path / "run", gap, "rollout_corr/kl", **rate)
    found = finding(report, "reward-collapse")
    assert found is not None
    order = [cause["text"] for cause in found["causes"]]
    assert order[0] not in ("Steps too large", APART)
