"""Detectors, one module a group of the catalogue. A rule of the catalogue runs once it has a detector here."""

from __future__ import annotations

from rltui.diagnosis.rules import (
    advantages,
    components,
    continuity,
    entropy,
    generation,
    gradient,
    held_out,
    kl,
    learning,
    numerics,
    reward,
    saturation,
    still,
    throughput,
)
from rltui.diagnosis.rules.base import Detector

DETECTORS: dict[str, Detector] = {
    "nonfinite-values": numerics.nonfinite_values,
    "truncation-high": generation.truncation_high,
    "no-learning-signal": learning.no_learning_signal,
    "zero-variance-groups": learning.zero_variance_groups,
    "reward-floor": saturation.reward_floor,
    "reward-saturated": saturation.reward_saturated,
    "reward-collapse": reward.reward_collapse,
    "reward-peak-decline": reward.reward_peak_decline,
    "reward-component-decoupling": components.reward_component_decoupling,
    "reward-component-dead": components.reward_component_dead,
    "reward-flat-from-start": still.reward_flat_from_start,
    "reward-plateau": still.reward_plateau,
    "reward-noise-dominates": still.reward_noise_dominates,
    "reward-function-fault": continuity.reward_function_fault,
    "val-regression": held_out.val_regression,
    "train-val-divergence": held_out.train_val_divergence,
    "cfg-group-size-degenerate": advantages.cfg_group_size_degenerate,
    "kl-penalty-gaming": advantages.kl_penalty_gaming,
    "kl-dominates": still.kl_dominates,
    "reference-mismatch-at-start": advantages.reference_mismatch_at_start,
    "policy-step-too-large": advantages.policy_step_too_large,
    "resume-discontinuity": continuity.resume_discontinuity,
    "kl-up-reward-flat": kl.kl_up_reward_flat,
    "kl-runaway": kl.kl_runaway,
    "entropy-collapse": entropy.entropy_collapse,
    "entropy-explosion": entropy.entropy_explosion,
    "length-collapse": generation.length_collapse,
    "length-explosion": generation.length_explosion,
    "grad-norm-explosion": gradient.grad_norm_explosion,
    "step-time-regression": throughput.step_time_regression,
}
"""Rules that look at rows, in the order in which they run."""
