"""More of what runs of another generator showed: validation that was changed, a schedule that ended, a weight that was
raised, a sampler that is left behind, and when a slow decline began."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write

EVERY = 20


def configured(run: Path, **settings: Any) -> Path:
    (run / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    return run


def rising(rows: int, to: float = 0.65) -> np.ndarray:
    return 0.35 + (to - 0.35) * (1 - np.exp(-np.arange(rows) / 80)) + wave(0, 0.03, rows, 1)


BEFORE = [0.36, 0.45, 0.52, 0.49, 0.6, 0.62, 0.6]


@pytest.mark.parametrize(
    ("after", "decision", "leads"),
    [
        ([0.43, 0.41, 0.43, 0.48, 0.46, 0.44], "continue-watch", True),
        ([0.47, 0.45, 0.4, 0.34, 0.29, 0.24], "stop-use-best", False),
    ],
    ids=["another set", "goes on falling"],
)
def test_validation_that_falls_at_once_and_stays_was_changed(
    after: list[float], decision: str, leads: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between two evaluations it lost a third, and nothing of the policy moved: other questions are asked."""
    columns = learning(260) | {"score": rising(260), "val": np.repeat([*BEFORE, *after], EVERY)}
    of = report(configured(write(tmp_path / "run", columns, {"val": EVERY}), total_steps=500), capsys)
    assert of["verdict"]["decision"] == decision
    found = finding(of, "train-val-divergence") or finding(of, "val-regression")
    assert found is not None
    assert found["causes"][0]["text"].startswith("The validation set or its grading changed") is leads
    assert ("outside the policy" in of["verdict"]["text"]) is leads


@pytest.mark.parametrize(("planned", "decision"), [(400, "pause-and-fix"), (240, "continue-watch")])
def test_a_schedule_that_ended_before_the_run_is_mended_while_steps_are_left(
    planned: int, decision: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    t = np.arange(240)
    rate = np.where(t < 150, 5e-7 * (1 + np.cos(np.pi * t / 150)), 0.0)
    frozen = np.minimum(t, 130)
    columns = learning(240) | {
        "score": 0.35 + 0.3 * (1 - np.exp(-frozen / 60)) + wave(0, 0.03, 240, 1),
        "kl": 0.0002 * frozen * (1 + wave(0, 0.05, 240, 2)),
        "lr": rate,
    }
    run = configured(write(tmp_path / "run", columns), lr=1e-6, total_steps=planned)
    of = report(run, capsys)
    assert of["run"]["steps"]["total"] == planned
    assert finding(of, "no-learning-signal") is not None
    assert of["verdict"]["decision"] == decision


@pytest.mark.parametrize(("weight", "leads"), [(1.0, "The weight of a part was changed"), (0.2, "The extra part")])
def test_a_total_that_leaps_without_its_parts_was_weighted_anew(
    weight: float, leads: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the same weight it is the part itself that rises, little by little, and is farmed."""
    t = np.arange(240)
    raised = weight > 0.2
    right = rising(240) if raised else 0.55 - 0.3 * np.clip((t - 120) / 60, 0, 1) + wave(0, 0.03, 240, 1)
    form = np.full(240, 0.95) if raised else 0.3 + 0.65 * np.clip((t - 120) / 60, 0, 1)
    form = form + wave(0, 0.01, 240, 2)
    total = right + np.where(t >= 120, weight, 0.2) * form if raised else right + form
    columns = learning(240) | {
        "rewards/accuracy_reward/mean": right,
        "rewards/format_reward/mean": form,
        "reward": total,
    }
    del columns["score"]
    found = finding(report(write(tmp_path / "run", columns), capsys), "reward-component-decoupling")
    assert found is not None
    assert found["causes"][0]["text"].startswith(leads)


def test_a_sampler_that_is_left_behind_heads_the_drift_that_comes_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its weights stay those of step 110: the trainer moves on, and what is sampled does not."""
    t = np.arange(240)
    away = np.clip((t - 110) / 130, 0, 1)
    columns = learning(240) | {
        "score": np.where(t < 110, rising(240), rising(240)[100:110].mean()) + wave(0, 0.03, 240, 2),
        "kl": np.linspace(0.003, 0.06, 240) * (1 + 1.5 * away),
        "rollout_corr/kl": 0.0009 * (1 + 40 * away) * (1 + wave(0, 0.08, 240, 3)),
        "training/rollout_probs_diff_mean": 0.0036 * np.sqrt(1 + 40 * away) * (1 + wave(0, 0.05, 240, 4)),
    }
    run = configured(write(tmp_path / "run", columns), kl_coef=0.001, total_steps=400)
    of = report(run, capsys)
    drift = finding(of, "kl-up-reward-flat")
    assert drift is not None
    assert drift["root"] == "mismatch-high"
    assert of["verdict"]["because"][0] == "mismatch-high"


GAINS = [0.45, 0.51, 0.55, 0.51, 0.55, 0.62]
SLOWLY = [*GAINS, 0.56, 0.65, 0.63, 0.58, 0.53, 0.57, 0.57, 0.48, 0.51, 0.43, 0.44, 0.4, 0.37, 0.39]
AT_ONCE = [*GAINS, 0.6, 0.65, 0.63, 0.6, 0.64, 0.61, 0.62, 0.43, 0.4, 0.43, 0.44, 0.4, 0.41, 0.39]


@pytest.mark.parametrize(("val", "first", "last"), [(SLOWLY, 160, 200), (AT_ONCE, 240, 260)], ids=["slow", "at once"])
def test_a_slow_decline_of_validation_began_where_it_set_out(
    val: list[float], first: int, last: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has long begun by the time that noise no longer explains it."""
    columns = learning(400) | {"score": rising(400), "val": np.repeat(val, EVERY)}
    found = finding(report(write(tmp_path / "run", columns, {"val": EVERY}), capsys), "val-regression")
    assert found is not None
    assert first <= found["onset_step"] <= last
