"""Detectors, one module a group of the catalogue. A rule of the catalogue runs once it has a detector here."""

from __future__ import annotations

from rltui.diagnosis.rules import entropy, generation, gradient, kl, learning, numerics, reward, saturation, throughput
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
