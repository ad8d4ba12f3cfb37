"""Cases of the rules of pages/kl.json."""

from __future__ import annotations

import numpy as np

from tests.unit.rules.given import CRITICAL, LEVEL, NONE, NOTICE, N, T, ramp, rows, spiked, wave

CASES = (
    rows(
        "kl-penalty-gaming",
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
    rows(
        "kl-dominates",
        {**LEVEL, "kl_ref": wave(0.05)},
        {**LEVEL, "kl_ref": wave(0.05)},
        config={"kl_coef_loss": 1.0},
        near_config={"kl_coef_loss": 0.2},
    ),
    rows("reference-mismatch-at-start", {**LEVEL, "kl_ref": wave(1.0)}, {**LEVEL, "kl_ref": wave(0.04)}),
    rows(
        "kl-up-reward-flat",
        {**LEVEL, "kl_ref": 0.02 + 0.35 * ramp(120, 180) + 0.001 * wave(1.0)},
        {**LEVEL, "kl_ref": 0.001 + 0.015 * ramp(120, 180) + 0.0001 * wave(1.0)},
    ),
    rows(
        "kl-up-reward-flat",  # one that stopped gaining, and one that goes on more slowly than a window shows
        {"score_mean": wave(0.35, 0.07, 15) + 0.2 * ramp(0, 80), "val_score": NONE, "kl_ref": wave(0.01) + 0.1 * T / N},
        {"score_mean": wave(0.35, 0.07, 15) + 0.15 * T / N, "val_score": NONE, "kl_ref": wave(0.01) + 0.1 * T / N},
    ),
    rows(
        "kl-up-reward-flat",  # a plateau, and a reward so noisy that its pace of before would not show in the window
        {"score_mean": wave(0.3, 0.03, 15) + 0.3 * ramp(0, 150), "val_score": NONE, "kl_ref": wave(0.01) + 0.1 * T / N},
        {"score_mean": wave(0.3, 0.16, 15) + 0.1 * T / N, "val_score": NONE, "kl_ref": wave(0.01) + 0.1 * T / N},
    ),
    rows(
        "kl-runaway",
        {**LEVEL, "kl_ref": wave(0.01) + 0.9 * ramp(150, 150)},
        {**LEVEL, "kl_ref": wave(0.01) + 0.03 * ramp(150, 150)},
        CRITICAL,
    ),
    rows(
        "kl-spike-transient", {"kl_ref": spiked(0.05, [270, 280], 30)}, {"kl_ref": spiked(0.05, [270, 280], 6)}, NOTICE
    ),
    rows("kl-zero-unexpected", {"kl_ref": np.zeros(N)}, {"kl_ref": np.full(N, 1e-7)}, config={"kl_coef_loss": 0.01}),
)
