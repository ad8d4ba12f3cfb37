"""Health of the latest rows, and the decision: loud on damage, quiet on what only looks like it."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.diagnosis.remarks import remarks
from rltui.evidence.guard import Guard
from rltui.evidence.model import Diagnosis
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.looks import look_at
from tests.unit.diagnosis.series import learning_run, noise
from tests.unit.rules.asked import near

N = 300
T = np.arange(N) / N
NO_VALIDATION: list[None] = [None] * N


def wobble(seed: int, sd: float) -> np.ndarray:
    return sd * noise(np.random.default_rng(seed), N, 0.3)


def diagnose(changes: dict[str, object], *of: str, **kwargs: object) -> Diagnosis:
    """`of`: these rules and their relatives alone are asked."""
    engine = near(*of) if of else Engine()
    return engine.advance(FakeRun({**learning_run(0, N), **changes}, **kwargs).grow())  # type: ignore[arg-type]


def loud(d: Diagnosis) -> set[str]:
    return {f.id for f in d.findings if f.severity != "info"}


def test_a_reward_that_stands_still_is_a_plateau_only_above_the_noise() -> None:
    still = 0.3 + 0.3 * np.minimum(1, T * 3) + wobble(1, 0.02)
    level = {"score_mean": still, "val_score": NO_VALIDATION, "kl_ref": 0.02 + np.abs(wobble(2, 0.001))}
    d = diagnose(level, "reward-plateau")
    assert "reward-plateau" in {f.id for f in d.findings}
    five_flat = np.array(learning_run(0, N)["score_mean"])
    five_flat[100:105] = five_flat[100]
    assert "reward-plateau" not in {f.id for f in diagnose({"score_mean": five_flat}, "reward-plateau").findings}


def test_kl_beyond_ten_is_dangerous() -> None:
    d = diagnose({"kl_ref": 12 * T, "val_score": NO_VALIDATION}, "kl-runaway")
    assert next(f.severity for f in d.findings if f.id == "kl-runaway") == "critical"


def test_entropy_that_falls_while_the_reward_pays_is_no_alarm_and_dead_entropy_is() -> None:
    assert not loud(diagnose({"entropy": 0.9 - 0.6 * T + wobble(3, 0.01)}))
    dead = {"entropy": np.maximum(0.01, 0.9 - 3 * T), "score_mean": 0.4 + wobble(4, 0.02), "val_score": NO_VALIDATION}
    assert "entropy-collapse" in loud(
        diagnose({**dead, "frac_reward_zero_std": np.minimum(0.95, 0.2 + T)}, "entropy-collapse")
    )


def test_early_entropy_collapse_is_dated() -> None:
    early = np.where(np.arange(N) < 40, 0.8, 0.02) + np.abs(wobble(5, 0.002))
    columns = {"entropy": early, "score_mean": 0.4 + wobble(6, 0.02), "val_score": NO_VALIDATION}
    d = diagnose(columns, "entropy-collapse")  # type: ignore[arg-type]
    onset = next(f.onset_step for f in d.findings if f.id == "entropy-collapse")
    assert onset is not None
    assert abs(onset - 41) <= 10


@pytest.mark.parametrize("level", [0.35, 0.6])
def test_more_than_three_tenths_clipped_is_too_aggressive(level: float) -> None:
    d = diagnose({"clip_frac": level + wobble(7, 0.01)}, config={"ppo_epochs": 4})
    finding = next(f for f in d.findings if f.id == "policy-step-too-large")
    assert finding.severity == "critical"
    assert any("earning rate" in c.text for c in finding.causes)


def test_length_that_jumps_either_way_without_gain_is_found() -> None:
    still = {"score_mean": 0.4 + wobble(8, 0.02), "val_score": NO_VALIDATION}
    short = np.where(np.arange(N) < 200, 300.0, 30.0) * (1 + wobble(9, 0.03))
    long = np.where(np.arange(N) < 150, 300.0, 1500.0) * (1 + wobble(9, 0.03))
    assert "length-collapse" in loud(diagnose({**still, "response_length_mean": short}, "length-collapse"))
    assert "length-explosion" in {
        f.id for f in diagnose({**still, "response_length_mean": long}, "length-explosion").findings
    }


def test_train_up_and_validation_down_over_three_evaluations_is_over_optimisation() -> None:
    falling = [0.6 - 0.3 * t if i % 15 == 0 else None for i, t in enumerate(T)]
    d = diagnose({"val_score": falling})
    assert "train-val-divergence" in loud(d)
    assert "reward-hacking" in d.verdict.kinds
    assert d.verdict.decision == "stop-use-best"


def test_three_falling_steps_are_noise_and_a_fall_is_not() -> None:
    dip = np.array(learning_run(0, N)["score_mean"])
    dip[200:203] -= np.array([0.03, 0.05, 0.07])
    assert not loud(diagnose({"score_mean": dip}))
    d = diagnose({"score_mean": 0.7 - 0.4 * T + wobble(10, 0.02), "val_score": NO_VALIDATION})
    assert {"reward-peak-decline", "reward-collapse"} & loud(d)


def test_spikes_with_high_kl_are_two_findings_of_one_story() -> None:
    gradient = np.full(N, 0.4) * np.exp(wobble(11, 0.1))
    gradient[[280, 285, 290]] = 300.0
    kl = 0.02 * np.exp(5 * np.clip((T - 0.6) / 0.35, 0, 1))
    d = diagnose(
        {"grad_norm": gradient, "kl_ref": kl, "score_mean": 0.5 + wobble(12, 0.02), "val_score": NO_VALIDATION}
    )
    assert {"grad-norm-explosion", "kl-runaway"} <= {f.id for f in d.findings}


def test_monotone_kl_drift_is_remarked_before_it_is_a_finding() -> None:
    columns = {"kl_ref": 0.01 + 0.02 * T + np.abs(wobble(13, 0.001)), "score_mean": 0.3 + 0.3 * T + wobble(14, 0.02)}
    assert "kl-doubled" in {r.id for r in remarks(look_at(columns), Guard())}  # type: ignore[arg-type]
    assert not loud(Engine().advance(FakeRun(columns).grow()))


def test_a_component_that_falls_under_a_rising_total_is_decoupled() -> None:
    columns = {
        "reward_component_mean:accuracy_reward": 0.5 - 0.4 * T + wobble(15, 0.02),
        "reward_component_mean:format_reward": 0.2 + 0.8 * T + wobble(16, 0.02),
        "val_score": NO_VALIDATION,
    }
    d = diagnose(dict(columns))
    assert "reward-component-decoupling" in loud(d)
    assert "reward-hacking" in d.verdict.kinds


def test_the_peak_is_named_and_the_checkpoint_there_is_kept() -> None:
    peaked = 0.3 + 0.4 * np.minimum(1, 2 * T) - 0.5 * np.maximum(0, T - 0.55) + wobble(17, 0.015)
    d = diagnose({"score_mean": peaked, "val_score": NO_VALIDATION})
    assert d.verdict.decision == "stop-use-best"
    best = d.verdict.best_checkpoint
    assert best is not None
    assert abs(best.step - 160) <= 30
    evidence = [e.text for f in d.findings for e in f.evidence if e.metric == "score_mean"]
    assert any("rises to about step" in text and "then falls" in text for text in evidence)


def test_every_finding_says_what_it_rests_on_and_what_would_refute_it() -> None:
    d = diagnose({"kl_ref": 12 * T, "val_score": NO_VALIDATION, "response_clip_ratio": np.full(N, 0.7)})
    assert d.findings
    for finding in d.findings:
        assert finding.basis in ("hypothesis", "config", "samples", "log")
        assert finding.refute
        if finding.severity != "info":
            assert finding.evidence
            assert all(e.first is not None and e.last is not None for e in finding.evidence)


def test_every_decision_says_what_would_change_it() -> None:
    for changes in ({}, {"kl_ref": 12 * T, "val_score": NO_VALIDATION}, {"score_mean": np.zeros(N)}):
        verdict = diagnose(dict(changes)).verdict
        assert verdict.text
        assert verdict.would_change
