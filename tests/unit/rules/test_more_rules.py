"""Rules on configuration, trainer and sampler, tools, critic, phases, logging and preference: each speaks where its
fault was planted, at the level that it may have, and is silent on a run that learns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.evidence.model import Diagnosis, Finding
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise
from tests.unit.diagnosis.written import finding, learning, report, wave, write
from tests.unit.rules.asked import near

N = 300
Columns = dict[str, object]
NO_VALIDATION = [None] * N


def wobble(level: float, sd: float = 0.02, seed: int = 0) -> np.ndarray:
    return level * (1 + sd * noise(np.random.default_rng(seed), N))


def ramp(start: int, length: int) -> np.ndarray:
    return np.clip((np.arange(N) - start) / length, 0, 1)


def falling(c: Columns) -> None:
    c["score_mean"] = np.maximum(0.0, wobble(0.6, 0.03) - 0.4 * ramp(120, 100))
    c["val_score"] = NO_VALIDATION


def dpo(c: Columns) -> None:
    for name in ("score_mean", "kl_ref", "entropy", "response_length_mean", "frac_reward_zero_std", "val_score"):
        c[name] = NO_VALIDATION


def with_(**columns: object) -> Callable[[Columns], None]:
    return lambda c: c.update(columns)


def both(*plants: Callable[[Columns], None]) -> Callable[[Columns], None]:
    def plant(c: Columns) -> None:
        for p in plants:
            p(c)

    return plant


apart = 2e-4 * np.exp(2 * ramp(100, 150)) * wobble(1)
less_likely = -100 - 60 * ramp(50, 200) + wobble(1)
margin = wobble(3) * ramp(50, 200)
spikes = wobble(0.05)
spikes[[200, 215, 230]] *= 40
vanished: list[float | None] = [0.5] * 250 + [None] * 50

PLANTED: list[tuple[str, str, Callable[[Columns], None]]] = [
    ("mismatch-high", "critical", both(falling, with_(rollout_train_logprob_diff=wobble(0.3)))),
    (
        "mismatch-growing",
        "warning",
        both(falling, with_(rollout_train_kl=apart)),
    ),
    ("is-weight-degenerate", "critical", both(falling, with_(is_ratio_mean=wobble(0.3)))),
    ("staleness-high", "warning", both(falling, with_(staleness_mean=wobble(3.5)))),
    ("grad-norm-ramp", "warning", both(falling, with_(grad_norm=0.3 * np.exp(2.5 * ramp(100, 150)) * wobble(1)))),
    ("kl-spike-transient", "info", with_(kl_ref=spikes)),
    ("tool-call-invalid", "warning", both(falling, with_(tool_failure_rate=wobble(0.45)))),
    ("tool-use-collapse", "warning", both(falling, with_(tool_calls_mean=2.0 - 1.95 * ramp(100, 50) + 0 * wobble(1)))),
    ("env-errors-contaminate", "warning", both(falling, with_(error_rate=wobble(0.1)))),
    ("critic-uninformative", "warning", both(falling, with_(vf_explained_var=wobble(-0.2)))),
    ("phase-bottleneck", "info", with_(**{"time_per_step_s": wobble(100), "phase:rollout": wobble(92)})),
    ("metric-vanished", "warning", with_(entropy=vanished)),
    ("data-exhausted", "info", with_(epoch=np.arange(N) / 60)),
    ("validation-underpowered", "info", with_(val_score=[float(v) for v in wobble(0.5, 0.15)])),
    ("invariant-violated", "critical", with_(response_clip_ratio=wobble(1.7))),
    ("pg-loss-shape", "info", with_(pg_loss=-0.02 + 0.06 * ramp(100, 150) + 0.001 * wobble(1))),
    (
        "dpo-likelihood-displacement",
        "warning",
        both(
            dpo,
            with_(dpo_logps_chosen=less_likely, dpo_reward_margin=margin),
        ),
    ),
    ("passk-shrink", "warning", with_(val_pass_at_k=[float(v) for v in 0.8 - 0.2 * ramp(100, 150) + 0.01 * wobble(1)])),
]

CONFIGS: list[tuple[str, dict[str, object], dict[str, object]]] = [
    ("cfg-no-checkpoint-or-eval", {"save_freq": -1}, {"save_freq": 20}),
    ("cfg-lr-too-high", {"lr": 5e-5, "model": "Qwen2.5-7B"}, {"lr": 1e-6}),
    ("cfg-lr-too-high", {"lr": 2e-5, "model": "Qwen2.5-7B"}, {"model": "sft-lora-Qwen2.5-7B"}),
    (
        "cfg-batch-arithmetic",
        {"train_batch_prompts": 100, "mini_batch": 64},
        {"train_batch_prompts": 128, "mini_batch": 64},
    ),
    ("cfg-kl-inert-or-double", {"kl_coef_loss": 1e-7}, {"kl_coef_loss": 1e-3}),
    ("cfg-sampling-mismatch", {"top_p": 0.9}, {"top_p": 1.0}),
    ("cfg-clip-range-wrong-scale", {"clip_low": 0.2, "importance_sampling_level": "sequence"}, {"clip_low": 0.2}),
]


def diagnose(columns: Columns, **kwargs: object) -> Diagnosis:
    return Engine().advance(FakeRun(columns, **kwargs).grow())  # type: ignore[arg-type]


def of_rule(rule: str, columns: Columns, **kwargs: object) -> list[Finding]:
    """What the rule says where it and its relatives are asked."""
    told = near(rule).advance(FakeRun(columns, **kwargs).grow())  # type: ignore[arg-type]
    return [f for f in told.findings if f.id == rule]


@cache
def healthy() -> Diagnosis:
    return diagnose(dict(learning_run(0, N)))


@pytest.mark.parametrize(("rule", "severity", "plant"), PLANTED, ids=[p[0] for p in PLANTED])
def test_planted_faults_are_found(rule: str, severity: str, plant: Callable[[Columns], None]) -> None:
    columns = dict(learning_run(0, N))
    assert not any(f.id == rule and f.peak_severity != "info" for f in healthy().findings)
    plant(columns)
    peaks = {f.peak_severity for f in of_rule(rule, columns)}
    assert severity in peaks, peaks


@pytest.mark.parametrize(("rule", "odd", "usual"), CONFIGS, ids=[c[0] for c in CONFIGS])
def test_config_alone_is_advice(rule: str, odd: dict[str, object], usual: dict[str, object]) -> None:
    columns = dict(learning_run(0, 60))
    del columns["lr"]
    if rule == "cfg-no-checkpoint-or-eval":
        del columns["val_score"]
    spoken = diagnose(columns, config=odd, framework="verl", planned=1000)
    assert [f.severity for f in spoken.findings if f.id == rule] == ["info"]
    assert spoken.verdict.decision == "continue"
    silent = diagnose(columns, config=usual, framework="verl", planned=1000)
    assert not [f for f in silent.findings if f.id == rule]


def test_kl_exactly_zero_although_it_acts() -> None:
    columns = dict(learning_run(0, N), kl_ref=np.zeros(N))
    on = of_rule("kl-zero-unexpected", columns, config={"kl_coef_loss": 0.01})
    assert [f.severity for f in on] == ["warning"]
    assert of_rule("kl-zero-unexpected", columns, config={"kl_coef_loss": 0.0}) == []


def test_advantages_of_one_sign() -> None:
    columns = dict(learning_run(0, N))
    columns.update(score_min=np.zeros(N), score_max=np.ones(N), advantage_min=wobble(0.1), advantage_max=wobble(1.2))
    told = of_rule("advantage-degenerate", columns, config={"adv_estimator": "grpo"})
    assert [f.severity for f in told] == ["critical"]


def test_what_needs_samples_or_hardware_says_so() -> None:
    needs = {n.id: n.needs for n in diagnose(dict(learning_run(0, 60))).not_evaluable}
    for rule in ("degenerate-samples", "eos-mismatch", "reward-mode-share", "format-invalid"):
        assert "samples" in needs[rule]
    assert "GPU" in needs["gpu-fault-or-throttle"]
    assert "host" in needs["host-ram-creep"]


@pytest.mark.parametrize(
    ("framework", "mean", "severity"),
    [("trl", 700.0, "warning"), ("trl", 2000.0, "critical"), ("verl", 700.0, "critical")],
)
def test_answers_too_short_to_be_cut_did_end(framework: str, mean: float, severity: str) -> None:
    """TRL counts as cut what ends on another token than tokenizer.eos_token_id; verl compares lengths."""
    columns = learning_run(0, N) | {"response_clip_ratio": wobble(0.97, 0.01), "response_length_mean": wobble(mean)}
    (found,) = of_rule("truncation-high", columns, config={"max_response_length": 2048}, framework=framework)
    assert found.severity == severity
    assert ("other than tokenizer.eos_token_id" in found.summary) == (severity == "warning")


@pytest.mark.parametrize(
    ("key", "label"), [("timing_s/ref", "reference takes"), ("timing_s/old_log_prob", "log-probs takes")]
)
def test_a_trainer_may_time_one_of_both_log_probs(
    key: str, label: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = report(write(tmp_path / "run", learning() | {"timing_s/gen": wave(12, 0.1), key: wave(12, 0.1)}), capsys)
    assert told["checks_failed"] == []
    found = finding(told, "phase-bottleneck")
    assert found is not None
    assert label in found["summary"]


@pytest.mark.parametrize("begins", [1, 40])
def test_answers_that_are_cut_from_the_first_row_on_are_cut_since_that_row(
    begins: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = learning()
    cut = np.abs(wave(0.7, 0.05, 120, 8))
    columns["cut"] = np.where(np.arange(120) + 1 < begins, columns["cut"], cut)
    found = finding(report(write(tmp_path, columns), capsys), "truncation-high")
    assert found is not None
    assert abs(found["onset_step"] - begins) <= (0 if begins == 1 else 3)


def test_a_short_run_whose_gradient_breaks_early_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = learning(28)
    columns["grad"] = wave(0.3, 0.03, 28)
    assert finding(report(write(tmp_path / "calm", columns), capsys), "grad-norm-explosion") is None
    columns["grad"][[9, 12, 16, 23]] = [210.0, 35.0, 1900.0, 480.0]
    told = finding(report(write(tmp_path / "breaks", columns), capsys), "grad-norm-explosion")
    assert told is not None
    assert (told["status"], told["severity"], told["onset_step"]) == ("active", "warning", 10)
