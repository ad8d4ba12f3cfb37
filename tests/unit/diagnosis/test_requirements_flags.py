"""Flags and words that published practice asks for: diverged losses, few steps, shapes of the policy loss, plateaus."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.evidence.model import Diagnosis, Finding
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise
from tests.unit.rules.asked import near

N = 300
T = np.arange(N)


def diagnose(rows: int = N, /, **changes: Any) -> Diagnosis:
    columns: Any = {**learning_run(0, rows), **changes}
    return Engine().advance(FakeRun(columns, planned=2 * rows).grow())


def found(rule: str, **changes: Any) -> Finding | None:
    """What the rule says where it and its relatives are asked."""
    columns: Any = {**learning_run(0, N), **changes}
    d = near(rule).advance(FakeRun(columns, planned=2 * N).grow())
    return active(d, rule)


def active(d: Diagnosis, rule: str) -> Finding | None:
    return next((f for f in d.findings if f.id == rule and f.status == "active"), None)


def wave(level: float, sd: float, seed: int = 0) -> np.ndarray:
    return level + sd * noise(np.random.default_rng(seed), N)


def test_a_loss_beyond_a_million_has_diverged() -> None:
    finding = found("invariant-violated", pg_loss=wave(3e6, 1e5))
    assert finding is not None
    assert finding.severity == "critical"
    assert "pg_loss" in finding.summary
    assert found("invariant-violated", pg_loss=wave(3e5, 1e4)) is None


@pytest.mark.parametrize(
    ("held_out", "severity"),
    [
        (wave(0.1, 0.01), "warning"),
        (0.02 + 0.12 * T / N, "info"),
        (wave(0.5, 0.01), "info"),
        (wave(0.5, 0.01) + 0.3 * T / N, None),
    ],
)
def test_a_high_reward_beside_a_low_validation(held_out: np.ndarray, severity: str | None) -> None:
    score = np.minimum(1.0, 0.3 + 0.6 * T / N)
    val = [float(v) if i % 10 == 0 else None for i, v in enumerate(held_out)]
    finding = found("train-val-divergence", score_mean=score, val_score=val)
    assert (finding.severity if finding else None) == severity


def test_few_steps_and_a_missing_primary_metric_are_told() -> None:
    short = diagnose(60)
    assert any("60 metric rows are few" in u for u in short.unknowns)
    assert not any("are few" in u for u in diagnose(200).unknowns)
    bare: Any = {"grad_norm": np.ones(200)}
    blind = Engine().advance(FakeRun(bare).grow())
    assert any(u.startswith("val_score is not logged") for u in blind.unknowns)
    assert blind.verdict.decision == "not-enough-evidence"


def test_aborted_rollouts_above_five_percent_are_a_finding() -> None:
    level: Any = {"score_mean": wave(0.5, 0.02), "val_score": [None] * N}
    finding = found("env-errors-contaminate", **level, aborted_ratio=wave(0.08, 0.005))
    assert finding is not None
    assert finding.severity == "warning"
    assert "aborted" in finding.summary
    assert found("env-errors-contaminate", **level, aborted_ratio=wave(0.01, 0.001)) is None


def test_a_flat_reward_at_almost_no_kl_is_too_small_an_update() -> None:
    level: Any = {"score_mean": wave(0.5, 0.015, 1), "val_score": [None] * N}
    finding = found("cfg-lr-too-low", **level, kl_ref=np.abs(wave(5e-4, 2e-5)))
    assert finding is not None
    assert "too small" in finding.summary
    assert found("cfg-lr-too-low", kl_ref=np.abs(wave(5e-4, 2e-5))) is None  # the reward rises


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (np.where(T > 200, -0.03, 0.03) + wave(0, 0.004), "turned its sign"),
        (np.where(T > 200, 0.09, 0.03) + wave(0, 0.004), "changed its level"),
        (np.where(T > 200, 0.03, 0.09) + wave(0, 0.004), "changed its level"),
        (0.05 - 0.01 * T / N + wave(0, 0.004), None),
    ],
)
def test_a_policy_loss_that_turns_doubles_or_halves_and_one_that_falls_slowly(
    loss: np.ndarray, words: str | None
) -> None:
    finding = found("pg-loss-shape", pg_loss=loss)
    assert (finding is None) == (words is None)
    if finding is not None and words is not None:
        assert words in finding.summary
        assert finding.severity == "info"
        assert finding.onset_step is not None
        assert abs(finding.onset_step - 202) <= 3


def test_a_loss_that_swings_about_zero_is_remarked_only_where_reward_is_level_and_batches_are_reused() -> None:
    swings: Any = {"pg_loss": wave(0, 0.01, 5), "val_score": [None] * N}
    used_often: Any = {"clip_frac": np.abs(wave(0.02, 0.005)), "ppo_kl": np.abs(wave(0.002, 5e-4))}
    level: Any = {"score_mean": wave(0.5, 0.02)}
    finding = active(diagnose(**swings, **used_often, **level), "pg-loss-shape")
    assert finding is not None
    assert "swings about zero" in finding.summary
    assert active(diagnose(**swings, **used_often), "pg-loss-shape") is None
    used_once: Any = {"clip_frac": np.zeros(N), "ppo_kl": np.zeros(N)}
    assert active(diagnose(**swings, **used_once, **level), "pg-loss-shape") is None


def test_a_plateau_with_continue_gives_its_reason() -> None:
    rise = 0.2 + 0.5 * np.minimum(1, T / 100) + 0.02 * noise(np.random.default_rng(1), N)
    val = [float(v) if i % 10 == 0 else None for i, v in enumerate(0.3 + 0.3 * T / N)]
    d = diagnose(score_mean=rise, val_score=val)
    assert active(d, "reward-plateau") is not None
    assert d.verdict.decision == "continue"
    assert "Validation still rises." in d.verdict.text
