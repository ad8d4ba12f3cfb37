"""Cases of the rules of pages/val.json."""

from __future__ import annotations

import numpy as np

from tests.unit.rules.given import CRITICAL, NOTICE, N, T, ramp, rare, rows, validation, wave

SHARE = {"score_min": np.zeros(N), "score_max": np.ones(N)}
CASES = (
    rows("val-regression", {"val_score": validation(150, 0.2)}, {"val_score": validation(150, 0.004)}),
    rows("train-val-divergence", {"val_score": validation(120, 0.2)}, {"val_score": validation(120, 0.004)}, CRITICAL),
    rows(
        "passk-shrink",
        {"val_pass_at_k": rare(0.8 - 0.2 * ramp(100, 150) + 0.01 * wave(1.0))},
        {"val_pass_at_k": rare(0.8 + 0.1 * ramp(100, 150) + 0.01 * wave(1.0))},
    ),
    rows("validation-underpowered", {"val_score": rare(wave(0.5, 0.15))}, {"val_score": rare(wave(0.5, 0.02))}, NOTICE),
    rows(
        "validation-shift",  # that training leaps with it is a gain
        {"val_score": rare(wave(0.4) + 0.4 * (T > 195)), "score_mean": wave(0.4)},
        {"val_score": rare(wave(0.4) + 0.4 * (T > 195)), "score_mean": wave(0.4) + 0.4 * (T > 195)},
    ),
    rows(
        "validation-shift",  # that the policy moves with it is a loss
        {"val_score": rare(wave(0.4) - 0.3 * (T > 195)), "entropy": wave(0.8)},
        {"val_score": rare(wave(0.4) - 0.3 * (T > 195)), "entropy": wave(0.8) * (1 - 0.6 * (T > 195))},
    ),
    rows(
        "train-behind-validation",  # a train reward that follows by half is that of the policy
        {"val_score": rare(wave(0.4) + 0.4 * T / N), "score_mean": wave(0.4), **SHARE},
        {"val_score": rare(wave(0.4) + 0.4 * T / N), "score_mean": wave(0.4) + 0.2 * T / N, **SHARE},
        NOTICE,  # from the start on: the prompts may become harder
    ),
    rows(
        "train-behind-validation",
        {"val_score": rare(wave(0.2) + 0.6 * T / N), "score_mean": wave(0.2) + 0.6 * np.minimum(T / N, 0.4), **SHARE},
        {"val_score": rare(wave(0.2) + 0.6 * T / N), "score_mean": wave(0.2) + 0.6 * T / N, **SHARE},
    ),
    rows("data-exhausted", {"epoch": T / 150}, {"epoch": T / 310}, NOTICE),
    rows("data-exhausted", {"epoch": T // 200}, {"epoch": T // 310}, NOTICE),
    rows("data-exhausted", {"epoch": T // 200}, {"epoch": np.where(T < 300, T / 301, 1.0)}, NOTICE),
    rows("data-exhausted", {"epoch": 1.0 + T // 200}, {"epoch": 1.0 + T // 310}, NOTICE),
)
