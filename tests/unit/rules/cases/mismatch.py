"""Cases of the rules of pages/mismatch.json."""

from __future__ import annotations

import numpy as np

from tests.unit.rules.given import FALLING, LEVEL, NOTICE, T, ramp, rows, wave

CASES = (
    rows(
        "mismatch-high",
        {**LEVEL, "rollout_train_logprob_diff": wave(0.15)},
        {**LEVEL, "rollout_train_logprob_diff": wave(0.02)},
    ),
    rows(
        "mismatch-growing",
        {**FALLING, "rollout_train_kl": 2e-4 * np.exp(2 * ramp(60, 230)) * wave(1.0)},
        {**FALLING, "rollout_train_kl": 2e-4 * np.exp(0.3 * ramp(60, 230)) * wave(1.0)},
    ),
    rows(
        "mismatch-growing",
        {"rollout_train_kl": np.where(T > 150, 2e-3 * (T - 150) * wave(1.0), 0.0)},
        {"rollout_train_kl": np.where(T > 150, 2e-3 * wave(1.0), 0.0)},
        still=NOTICE,
    ),
    rows(
        "is-weight-degenerate",
        {**LEVEL, "is_ratio_mean": wave(0.6), "rollout_train_logprob_diff": wave(2e-4)},
        {**LEVEL, "is_ratio_mean": wave(0.95), "rollout_train_logprob_diff": wave(2e-4)},
    ),
)
