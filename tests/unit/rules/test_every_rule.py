"""Every rule that looks at rows: one course on which it speaks at its level, and a near miss on which it does not.

A near miss differs from the fault in one thing, which stays just within the threshold or takes the damage away. Rules
are asked by themselves here, look after look; how long a condition must hold is tested in test_life.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from rltui.evidence.blocks import BlockCache
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.profile import RunSettings
from rltui.rules.catalogue import rules
from rltui.rules.registry import detectors
from rltui.run.table import Floats
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise

N = 300
NOTICE, WARNING, CRITICAL = 1, 2, 3
Columns = Mapping[str, Any]
T = np.arange(N)


def wave(level: float, sd: float = 0.02, seed: int = 0, n: int = N) -> Floats:
    """A level with noise of so many parts of it."""
    return np.asarray(level * (1 + sd * noise(np.random.default_rng(seed), n)))


def ramp(start: int, length: int) -> Floats:
    return np.asarray(np.clip((T - start) / length, 0, 1))


def spiked(level: float, rows: list[int], times: float) -> Floats:
    x = wave(level)
    x[rows] *= times
    return x


def rare(values: Floats, every: int = 10) -> list[float | None]:
    return [float(v) if i % every == 0 else None for i, v in enumerate(values)]


NONE: list[float | None] = [None] * N
FALLING: Columns = {"score_mean": np.maximum(0.0, wave(0.6, 0.03) - 0.4 * ramp(120, 100)), "val_score": NONE}
LEVEL: Columns = {"score_mean": wave(0.5, 0.03), "val_score": NONE}
DPO_OFF: Columns = dict.fromkeys(
    ("score_mean", "kl_ref", "entropy", "pg_loss", "response_length_mean", "val_score"), NONE
)


DETECTORS = {one.rule: one.detect for one in detectors(Look)}


@dataclass(frozen=True)
class Case:
    """`fault` and `near` are laid over a run that learns; `level`: highest of the fault; `still`: of the near miss."""

    fault: Columns
    near: Columns
    level: int = WARNING
    still: int = 0
    config: Mapping[str, object] = field(default_factory=dict)
    near_config: Mapping[str, object] | None = None
    opened: Mapping[str, int] = field(default_factory=dict)
    framework: str = "trl"
    algorithm: str = "grpo"
    planned: int | None = None
    restarts: tuple[int, ...] = ()
    near_restarts: tuple[int, ...] = ()
    rows: int = N


def lost(values: Floats, since: int) -> Floats:
    return np.where(since <= T, np.nan, values)


def cut(at: int, fall: float) -> Floats:
    """Reward that rises to .7 and loses this share at a row."""
    return np.asarray(
        (0.2 + 0.5 * ramp(0, 150)) * (1 - fall * ramp(at, 10)) + 0.01 * noise(np.random.default_rng(1), N)
    )


def validation(peak: int, fall: float) -> list[float | None]:
    return rare(0.3 + 0.3 * ramp(0, peak) - fall * ramp(peak + 20, 100) + 0.005 * noise(np.random.default_rng(2), N))


BATCHES = {"score_min": np.zeros(N), "score_max": np.ones(N)}
LOW = np.random.default_rng(9).uniform(-1, 0, N)
PHASED = {"time_per_step_s": wave(100.0), "phase:update_actor": wave(10.0)}
CALLS = {"tool_calls_mean": 2.0 - 1.7 * ramp(100, 50)}

TABLE: dict[str, Case] = {
    "nonfinite-values": Case({"pg_loss": lost(wave(0.1), 280)}, {"grad_norm": lost(wave(0.3), 299)}, CRITICAL, NOTICE),
    "truncation-high": Case(
        {**LEVEL, "response_clip_ratio": 0.01 + 0.14 * ramp(150, 60)},
        {**LEVEL, "response_clip_ratio": np.full(N, 0.045)},
    ),
    "no-learning-signal": Case(
        {"grad_norm": np.where(T > 270, 0.0, wave(0.3))}, {"grad_norm": np.where(T > 297, 0.0, wave(0.3))}, CRITICAL
    ),
    "zero-variance-groups": Case(
        {**LEVEL, "frac_reward_zero_std": np.full(N, 0.7)}, {**LEVEL, "frac_reward_zero_std": np.full(N, 0.38)}
    ),
    "reward-floor": Case(
        {"score_mean": np.where(T > 260, 0.0, wave(0.5))}, {"score_mean": np.where(T > 297, 0.0, wave(0.5))}, CRITICAL
    ),
    "reward-saturated": Case(
        {"score_mean": np.minimum(1.0, 0.3 + 0.7 * ramp(0, 150)), "frac_reward_zero_std": 0.2 + 0.75 * ramp(100, 60)},
        {
            "score_mean": np.minimum(1.0, 0.3 + 0.7 * ramp(0, 150)),
            "frac_reward_zero_std": 0.2 + 0.75 * ramp(100, 60),
            "response_clip_ratio": np.full(N, 0.8),
        },
    ),
    "reward-collapse": Case({"score_mean": cut(200, 0.97)}, {"score_mean": cut(200, 0.1)}, CRITICAL),
    "reward-component-decoupling": Case(
        {"reward_component_mean:accuracy": wave(0.5) - 0.4 * ramp(100, 100)},
        {"reward_component_mean:format": wave(0.5) - 0.4 * ramp(100, 100)},
        CRITICAL,
    ),
    "reward-component-dead": Case(
        {"reward_component_mean:accuracy": np.zeros(N), "reward_component_mean:format": wave(0.5)},
        {"reward_component_mean:accuracy": 0.001 * (T % 7 == 0), "reward_component_mean:format": wave(0.5)},
    ),
    "reward-flat-from-start": Case({**LEVEL, "kl_ref": wave(5e-5)}, {**LEVEL, "kl_ref": wave(0.02)}, WARNING, NOTICE),
    "reward-peak-decline": Case(
        {"score_mean": 0.3 + 0.4 * ramp(0, 120) - 0.25 * ramp(140, 150) + 0.01 * noise(np.random.default_rng(1), N)},
        {"score_mean": 0.3 + 0.4 * ramp(0, 120) - 0.03 * ramp(140, 150) + 0.01 * noise(np.random.default_rng(1), N)},
    ),
    "reward-plateau": Case(
        {"score_mean": 0.2 + 0.5 * ramp(0, 100) + 0.02 * noise(np.random.default_rng(1), N), "val_score": NONE},
        {"score_mean": 0.2 + 0.5 * ramp(0, 300) + 0.02 * noise(np.random.default_rng(1), N), "val_score": NONE},
        NOTICE,
    ),
    "reward-noise-dominates": Case(
        {"score_mean": np.clip(wave(0.5, 0.4), 0, 1)}, {"score_mean": wave(0.5, 0.05)}, NOTICE
    ),
    "reward-function-fault": Case(
        {"score_mean": np.where((T > 250) & (T % 2 == 0), np.nan, wave(0.5))},
        {"score_mean": np.where(T == 250, np.nan, wave(0.5))},
    ),
    "val-regression": Case({"val_score": validation(150, 0.2)}, {"val_score": validation(150, 0.004)}),
    "train-val-divergence": Case({"val_score": validation(120, 0.2)}, {"val_score": validation(120, 0.004)}, CRITICAL),
    "cfg-group-size-degenerate": Case({}, {}, config={"group_size": 2}, near_config={"group_size": 8}),
    "kl-penalty-gaming": Case(
        {
            **LEVEL,
            "reward_mean": wave(0.2) + 0.3 * ramp(0, 250),
            "response_length_mean": wave(300) * (1 - 0.9 * ramp(50, 150)),
        },
        {
            **LEVEL,
            "reward_mean": wave(0.2) + 0.3 * ramp(0, 250),
            "response_length_mean": wave(300) * (1 - 0.4 * ramp(50, 150)),
        },
        CRITICAL,
    ),
    "kl-dominates": Case(
        {**LEVEL, "kl_ref": wave(0.05)},
        {**LEVEL, "kl_ref": wave(0.05)},
        config={"kl_coef_loss": 1.0},
        near_config={"kl_coef_loss": 0.2},
    ),
    "reference-mismatch-at-start": Case({**LEVEL, "kl_ref": wave(1.0)}, {**LEVEL, "kl_ref": wave(0.04)}),
    "policy-step-too-large": Case({"clip_frac": wave(0.25)}, {"clip_frac": wave(0.08)}),
    "resume-discontinuity": Case(
        {"score_mean": np.where(T > 280, 0.1, wave(0.5))}, {}, restarts=(282,), near_restarts=(100,)
    ),
    "kl-up-reward-flat": Case(
        {**LEVEL, "kl_ref": 0.02 + 0.35 * ramp(120, 180) + 0.001 * wave(1.0)},
        {**LEVEL, "kl_ref": 0.001 + 0.015 * ramp(120, 180) + 0.0001 * wave(1.0)},
    ),
    "kl-runaway": Case(
        {**LEVEL, "kl_ref": wave(0.01) + 0.9 * ramp(150, 150)},
        {**LEVEL, "kl_ref": wave(0.01) + 0.03 * ramp(150, 150)},
        CRITICAL,
    ),
    "entropy-collapse": Case(
        {**LEVEL, "entropy": 0.9 * (1 - 0.85 * ramp(150, 140)) * wave(1.0)},
        {**LEVEL, "entropy": 0.9 * (1 - 0.45 * ramp(150, 140)) * wave(1.0)},
    ),
    "entropy-explosion": Case(
        {**FALLING, "entropy": 0.6 + 3.0 * ramp(150, 120) + 0.02 * wave(1.0)},
        {**FALLING, "entropy": 0.6 + 0.3 * ramp(150, 120) + 0.02 * wave(1.0)},
        CRITICAL,
    ),
    "length-collapse": Case(
        {**LEVEL, "response_length_mean": wave(300) * (1 - 0.6 * ramp(100, 80))},
        {**LEVEL, "response_length_mean": wave(300) * (1 - 0.25 * ramp(100, 80))},
    ),
    "length-explosion": Case(
        {**LEVEL, "response_length_mean": wave(300) * np.exp(1.2 * ramp(100, 190))},
        {**LEVEL, "response_length_mean": wave(300) * np.exp(0.3 * ramp(100, 190))},
    ),
    "grad-norm-explosion": Case(
        {"grad_norm": spiked(0.3, [290, 296], 60.0)}, {"grad_norm": spiked(0.3, [290, 296], 7.0)}
    ),
    "step-time-regression": Case(
        {"time_per_step_s": wave(60.0) * (1 + 0.8 * ramp(200, 5))},
        {"time_per_step_s": wave(60.0) * (1 + 0.2 * ramp(200, 5))},
    ),
    "cfg-no-checkpoint-or-eval": Case(
        {"val_score": NONE},
        {"val_score": NONE},
        NOTICE,
        config={"save_freq": -1, "test_freq": 10},
        near_config={"save_freq": 100, "test_freq": 50},
        planned=1000,
    ),
    "cfg-lr-too-high": Case({"lr": np.full(N, 6e-6)}, {"lr": np.full(N, 4e-6)}, NOTICE, config={"model": "Qwen2.5-7B"}),
    "cfg-lr-too-low": Case(
        {"score_mean": wave(0.5, 0.03, 1), "kl_ref": wave(5e-4), "frac_reward_zero_std": wave(0.3)},
        {"score_mean": wave(0.5, 0.03, 1), "kl_ref": wave(5e-4), "frac_reward_zero_std": wave(0.7)},
        planned=400,
    ),
    "cfg-batch-arithmetic": Case(
        {},
        {},
        NOTICE,
        framework="verl",
        config={"train_batch_prompts": 100, "mini_batch": 64},
        near_config={"train_batch_prompts": 128, "mini_batch": 64},
    ),
    "cfg-kl-inert-or-double": Case({}, {}, NOTICE, config={"kl_coef_loss": 5e-6}, near_config={"kl_coef_loss": 2e-5}),
    "cfg-sampling-mismatch": Case(
        {"is_ratio_mean": wave(0.9)}, {"is_ratio_mean": wave(0.9)}, config={"top_p": 0.9}, near_config={"top_p": 1.0}
    ),
    "cfg-clip-range-wrong-scale": Case({}, {}, NOTICE, config={"clip_low": 0.03}, near_config={"clip_low": 0.1}),
    "kl-spike-transient": Case(
        {"kl_ref": spiked(0.05, [270, 280], 30)}, {"kl_ref": spiked(0.05, [270, 280], 6)}, NOTICE
    ),
    "kl-zero-unexpected": Case({"kl_ref": np.zeros(N)}, {"kl_ref": np.full(N, 1e-7)}, config={"kl_coef_loss": 0.01}),
    "advantage-degenerate": Case(
        {**BATCHES, "advantage_min": wave(0.1), "advantage_max": wave(1.2)},
        {**BATCHES, "advantage_min": wave(-0.1), "advantage_max": wave(1.2)},
        CRITICAL,
    ),
    "invariant-violated": Case({"total_loss": wave(2e6)}, {"total_loss": wave(5e5)}, CRITICAL),
    "grad-norm-ramp": Case(
        {**LEVEL, "grad_norm": 0.3 * np.exp(1.5 * ramp(100, 150)) * wave(1.0)},
        {**LEVEL, "grad_norm": 0.3 * np.exp(0.5 * ramp(100, 150)) * wave(1.0)},
    ),
    "grad-always-clipped": Case(
        {"grad_norm": wave(6.0)}, {"grad_norm": wave(4.5)}, NOTICE, config={"max_grad_norm": 1.0}
    ),
    "pg-loss-shape": Case(
        {"pg_loss": np.where(T > 200, 0.03, -0.03) + 0.005 * wave(1.0, 1.0)},
        {"pg_loss": np.where(T > 200, 0.04, 0.03) + 0.002 * wave(1.0, 1.0)},
        NOTICE,
    ),
    "staleness-high": Case({**LEVEL, "staleness_mean": wave(2.5)}, {**LEVEL, "staleness_mean": wave(0.9)}),
    "mismatch-high": Case(
        {**LEVEL, "rollout_train_logprob_diff": wave(0.15)}, {**LEVEL, "rollout_train_logprob_diff": wave(0.02)}
    ),
    "mismatch-growing": Case(
        {**FALLING, "rollout_train_kl": 2e-4 * np.exp(2 * ramp(60, 230)) * wave(1.0)},
        {**FALLING, "rollout_train_kl": 2e-4 * np.exp(0.3 * ramp(60, 230)) * wave(1.0)},
    ),
    "is-weight-degenerate": Case(
        {**LEVEL, "is_ratio_mean": wave(0.6), "rollout_train_logprob_diff": wave(2e-4)},
        {**LEVEL, "is_ratio_mean": wave(0.95), "rollout_train_logprob_diff": wave(2e-4)},
    ),
    "tool-call-invalid": Case({**LEVEL, "tool_failure_rate": wave(0.4)}, {**LEVEL, "tool_failure_rate": wave(0.08)}),
    "tool-use-collapse": Case({"tool_calls_mean": 2.0 - 1.95 * ramp(100, 50)}, CALLS, WARNING, NOTICE),
    "env-errors-contaminate": Case({**LEVEL, "aborted_ratio": wave(0.08)}, {**LEVEL, "aborted_ratio": wave(0.01)}),
    "passk-shrink": Case(
        {"val_pass_at_k": rare(0.8 - 0.2 * ramp(100, 150) + 0.01 * wave(1.0))},
        {"val_pass_at_k": rare(0.8 + 0.1 * ramp(100, 150) + 0.01 * wave(1.0))},
    ),
    "validation-underpowered": Case({"val_score": rare(wave(0.5, 0.15))}, {"val_score": rare(wave(0.5, 0.02))}, NOTICE),
    "data-exhausted": Case({"epoch": T / 150}, {"epoch": T / 310}, NOTICE),
    "critic-uninformative": Case({**LEVEL, "vf_explained_var": wave(-0.1)}, {**LEVEL, "vf_explained_var": wave(0.3)}),
    "value-loss-explosion": Case(
        {**FALLING, "vf_loss": spiked(0.5, [270, 285], 40)}, {**FALLING, "vf_loss": spiked(0.5, [270, 285], 5)}
    ),
    "phase-bottleneck": Case({**PHASED, "phase:rollout": wave(88)}, {**PHASED, "phase:rollout": wave(75)}, NOTICE),
    "checkpoint-slow": Case(
        {"time_per_step_s": wave(60), "phase:save_checkpoint": np.where(T % 20 == 0, 200.0, 0.0)},
        {"time_per_step_s": wave(60), "phase:save_checkpoint": np.where(T % 20 == 0, 40.0, 0.0)},
        NOTICE,
    ),
    "rollout-straggler": Case(
        {"time_per_step_s": wave(60), "phase:rollout": wave(45), "response_length_max": wave(4000)},
        {"time_per_step_s": wave(60), "phase:rollout": wave(45), "response_length_max": wave(1500)},
        NOTICE,
    ),
    "metric-vanished": Case({"entropy": [0.5] * 280 + [None] * 20}, {"entropy": [0.5] * 295 + [None] * 5}),
    "metric-definition-trap": Case({"lr": np.zeros(N)}, {"lr": np.full(N, 1e-6)}, NOTICE),
    "dpo-likelihood-displacement": Case(
        {
            **DPO_OFF,
            "dpo_logps_chosen": -100 - 60 * ramp(50, 200) + wave(1),
            "dpo_reward_margin": wave(3) * ramp(50, 200),
        },
        {
            **DPO_OFF,
            "dpo_logps_chosen": -100 + 20 * ramp(50, 200) + wave(1),
            "dpo_reward_margin": wave(3) * ramp(50, 200),
        },
        algorithm="dpo",
    ),
    "dpo-no-signal-or-saturated": Case(
        {**DPO_OFF, "total_loss": wave(0.693, 0.002), "dpo_accuracy": wave(0.5, 0.02)},
        {**DPO_OFF, "total_loss": wave(0.693, 0.002) - 0.05 * ramp(0, 100), "dpo_accuracy": 0.5 + 0.1 * ramp(0, 100)},
        algorithm="dpo",
    ),
}


def highest(rule: str, case: Case, columns: Columns, config: Mapping[str, object], restarts: tuple[int, ...]) -> int:
    """Highest level at any look of the last rows, notes kept from look to look."""
    run = FakeRun(
        {**learning_run(0, N), **columns},  # type: ignore[dict-item]
        config=config,
        framework=case.framework,
        algorithm=case.algorithm,
        planned=case.planned,
    ).grow()
    run.history.table.restarts.extend(restarts)
    feed = LookFeed(run, BlockCache(), RunSettings.of(run))
    memory: dict[str, float] = {}
    level = 0
    for n in range(20, N + 1, 10):
        found = DETECTORS[rule](Look(feed, n, case.opened), rules()[rule].values(), memory)
        level = max((s.level for s in found), default=0)
        assert all(s.summary for s in found)
    return level


def test_the_table_holds_every_rule_that_looks_at_rows() -> None:
    assert set(TABLE) == set(DETECTORS)


@pytest.mark.parametrize("rule", TABLE)
def test_a_rule_speaks_on_its_fault_and_not_on_a_near_miss(rule: str) -> None:
    case = TABLE[rule]
    near_config = case.config if case.near_config is None else case.near_config
    assert highest(rule, case, case.fault, case.config, case.restarts) == case.level
    assert highest(rule, case, case.near, near_config, case.near_restarts) <= case.still < case.level


@pytest.mark.parametrize("rule", TABLE)
def test_a_rule_is_not_loud_on_a_run_that_learns(rule: str) -> None:
    assert highest(rule, Case({}, {}), {}, {}, ()) <= NOTICE
