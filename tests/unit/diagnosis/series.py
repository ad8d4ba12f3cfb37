"""Series for the tests: null noise of known autocorrelation, and a healthy run of core metrics."""

from __future__ import annotations

import math
from copy import copy
from functools import cache

import numpy as np


def noise(rng: np.random.Generator, n: int, rho: float = 0.0) -> np.ndarray:
    """Unit-variance AR(1) noise."""
    x, fresh = rng.standard_normal(n).tolist(), math.sqrt(1 - rho * rho)
    for i in range(1, n):
        x[i] = rho * x[i - 1] + fresh * x[i]
    return np.array(x)


def still_run(seed: int, n: int, rho: float) -> dict[str, object]:
    """All core metrics of a run in which nothing happens, at levels seen in healthy runs."""
    rng = np.random.default_rng(seed)

    def w() -> np.ndarray:
        return noise(rng, n, rho)

    score = np.clip(0.5 + 0.05 * w(), 0, 1)
    return {
        "score_mean": score,
        "kl_ref": np.abs(0.06 + 0.015 * w()),
        "entropy": np.maximum(0.01, 0.4 + 0.05 * w()),
        "grad_norm": 0.5 * np.exp(0.3 * w()),
        "response_length_mean": 400 * np.exp(0.08 * w()),
        "response_clip_ratio": np.clip(0.04 + 0.015 * w(), 0, 1),
        "time_per_step_s": 60 * np.exp(0.1 * w()),
        "frac_reward_zero_std": np.clip(0.35 + 0.08 * w(), 0, 1),
        "pg_loss": 0.01 * w(),
        "lr": np.full(n, 1e-6),
        "clip_frac": np.clip(0.02 + 0.01 * w(), 0, 1),
        "ppo_kl": 0.002 * w(),
        "reward_std": 0.3 + 0.02 * w(),
        "val_score": [0.4 + 0.02 * v if i % 20 == 0 else None for i, v in enumerate(rng.standard_normal(n))],
        "reward_component_mean:accuracy": score,
        "reward_component_mean:format": np.clip(0.8 + 0.05 * w(), 0, 1),
    }


def learning_run(seed: int = 0, n: int = 400) -> dict[str, object]:
    """A run that learns: reward and validation rise, entropy and KL move as they do then."""
    return {name: copy(values) for name, values in _learning_run(seed, n).items()}


@cache
def _learning_run(seed: int, n: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    t = np.minimum(1.0, np.arange(n) / (0.8 * n))

    def w() -> np.ndarray:
        return noise(rng, n, 0.3)

    return {
        "score_mean": np.clip(0.2 + 0.5 * t + 0.03 * w(), 0, 1),
        "kl_ref": 1e-4 + 0.08 * t + 0.002 * np.abs(w()),
        "entropy": 0.9 - 0.5 * t + 0.02 * w(),
        "grad_norm": 0.4 * np.exp(0.2 * w()),
        "response_length_mean": 300 * np.exp(0.2 * t + 0.05 * w()),
        "response_clip_ratio": np.abs(0.01 * w()),
        "time_per_step_s": 60 * np.exp(0.2 * t + 0.05 * w()),
        "frac_reward_zero_std": np.clip(0.2 + 0.1 * t + 0.03 * w(), 0, 1),
        "pg_loss": 0.01 * w(),
        "lr": np.full(n, 1e-6),
        "val_score": [float(0.25 + 0.4 * t[i] + 0.01 * v) if i % 20 == 0 else None for i, v in enumerate(w())],
    }
