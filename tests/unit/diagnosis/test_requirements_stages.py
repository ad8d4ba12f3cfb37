"""Stage by stage: what each must notice, and that no walk ends early."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.evidence.model import Diagnosis
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise
from tests.unit.rules.asked import near

N = 200
STAGES = ["reward", "advantages", "log-probs", "loss", "generation"]
RNG = np.random.default_rng(0)


def diagnose(changes: dict[str, object], **kwargs: object) -> Diagnosis:
    return Engine().advance(FakeRun({**learning_run(0, N), **changes}, **kwargs).grow())  # type: ignore[arg-type]


def severity(rule: str, changes: dict[str, object], **kwargs: object) -> str | None:
    """Of what the rule says where it and its relatives are asked."""
    d = near(rule).advance(FakeRun({**learning_run(0, N), **changes}, **kwargs).grow())  # type: ignore[arg-type]
    return next((f.severity for f in d.findings if f.id == rule), None)


def test_every_stage_ends_with_a_status_and_a_reason() -> None:
    for columns in ({}, {"score_mean": np.zeros(N)}, {"grad_norm": [None] * N, "pg_loss": [None] * N}):
        d = diagnose(dict(columns))
        assert [s.stage for s in d.pipeline] == STAGES
        assert all(s.status in ("pass", "warn", "fail", "unknown") and s.because for s in d.pipeline)
    empty = Engine().advance(FakeRun({}))
    assert [s.stage for s in empty.pipeline] == STAGES
    assert all(s.status == "unknown" and s.because for s in empty.pipeline)


def test_two_faults_are_both_found_and_what_follows_is_provisional() -> None:
    d = diagnose({"grad_norm": np.zeros(N), "response_clip_ratio": np.full(N, 0.8)})
    status = {s.stage: s for s in d.pipeline}
    assert status["advantages"].status == "fail"
    assert status["generation"].status == "fail"
    assert "advantages upstream" in status["generation"].because
    assert "provisional" in status["log-probs"].because


def test_a_constant_reward_is_no_learning_signal() -> None:
    still = {"frac_reward_zero_std": np.ones(N), "grad_norm": np.zeros(N), "val_score": [None] * N}
    assert severity("no-learning-signal", {"score_mean": np.zeros(N), **still}) == "critical"
    assert severity("reward-floor", {"score_mean": np.zeros(N), **still}) == "critical"
    assert severity("reward-saturated", {"score_mean": np.ones(N), **still}) == "warning"


def test_varying_rewards_with_a_dead_gradient_are_told_with_both_numbers() -> None:
    d = diagnose({"grad_norm": np.zeros(N), "frac_reward_zero_std": np.full(N, 0.1)})
    finding = next(f for f in d.findings if f.id == "no-learning-signal")
    assert finding.severity == "critical"
    assert {"grad_norm", "frac_reward_zero_std"} <= {e.metric for e in finding.evidence}
    assert "10 % of the groups have no reward variance" in finding.summary


@pytest.mark.parametrize("size", [1, 2])
def test_a_group_of_one_or_two_is_no_baseline(size: int) -> None:
    config = {"group_size": size, "adv_estimator": "grpo"}
    assert severity("cfg-group-size-degenerate", {}, config=config) in ("warning", "critical")
    assert severity("cfg-group-size-degenerate", {}, config={"group_size": 8}) is None


@pytest.mark.parametrize(("size", "wanted"), [(1, "warning"), (2, "info"), (4, "info"), (8, None)])
def test_rloo_with_two_samples_is_noisy_and_no_fault(size: int, wanted: str | None) -> None:
    """Its baseline leaves the sample out, so one other is enough; TRL's RLOO takes two by default."""
    config = {"group_size": size, "adv_estimator": "rloo"}
    assert severity("cfg-group-size-degenerate", {}, config=config) == wanted


def test_a_loss_that_never_moves_is_judged_by_its_gradient() -> None:
    assert severity("no-learning-signal", {"pg_loss": np.full(N, 0.1), "grad_norm": np.zeros(N)}) == "critical"
    assert severity("no-learning-signal", {"pg_loss": np.zeros(N)}) is None


def test_a_kl_term_ten_times_the_policy_term_is_a_finding() -> None:
    changes = {
        "kl_ref_weighted": np.full(N, 1.0),
        "pg_loss": 0.01 * noise(np.random.default_rng(1), N),
        "kl_ref": 0.5 + 0.001 * noise(np.random.default_rng(2), N),
    }
    d = diagnose(dict(changes), config={"kl_coef_loss": 2.0})
    finding = next(f for f in d.findings if f.id == "kl-dominates")
    assert {e.metric for e in finding.evidence} & {"kl_ref_weighted", "kl_ref"}


def test_everything_clipped_starves_the_signal() -> None:
    d = diagnose({"clip_frac": np.full(N, 0.99)}, config={"ppo_epochs": 4})
    assert next(f.severity for f in d.findings if f.id == "policy-step-too-large") == "critical"
    assert next(s for s in d.pipeline if s.stage == "loss").status == "fail"


def test_nan_and_a_gradient_that_explodes_are_found() -> None:
    nan = np.where(np.arange(N) > 150, np.nan, 0.1)
    assert severity("nonfinite-values", {"pg_loss": nan}) == "critical"
    spikes = np.full(N, 0.4)
    spikes[[180, 185, 190]] = 2000.0
    found = next(f for f in diagnose({"grad_norm": spikes}).findings if f.id == "grad-norm-explosion")
    assert found.peak_severity in ("warning", "critical")


def test_kl_of_more_than_one_nat_at_the_start_is_noticed() -> None:
    high = np.abs(1.5 + 0.1 * noise(np.random.default_rng(3), N))
    assert severity("reference-mismatch-at-start", {"kl_ref": high}) is not None


COLLAPSED = {
    "length at its minimum": {
        "response_length_mean": np.r_[np.full(120, 300.0), np.full(80, 2.0)],
        "score_mean": np.full(N, 0.4),
        "val_score": [None] * N,
    },
    "half of the answers cut": {"response_clip_ratio": np.full(N, 0.6)},
    "reward always 0": {"score_mean": np.zeros(N), "frac_reward_zero_std": np.ones(N), "val_score": [None] * N},
    "reward always 1": {"score_mean": np.ones(N), "frac_reward_zero_std": np.ones(N), "val_score": [None] * N},
}


@pytest.mark.parametrize("changes", COLLAPSED.values(), ids=list(COLLAPSED))
def test_collapsed_generation_is_loud(changes: dict[str, object]) -> None:
    d = diagnose(changes)
    assert [f for f in d.findings if f.severity != "info"]
    assert d.verdict.decision in ("stop-use-best", "pause-and-fix", "abort-now")
