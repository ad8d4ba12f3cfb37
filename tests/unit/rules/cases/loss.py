"""Cases of the rules of pages/loss.json."""

from __future__ import annotations

import numpy as np

from rltui.run.table import Floats
from tests.unit.rules.given import CRITICAL, LEVEL, NOTICE, N, T, rows, wave


def lost(values: Floats, since: int) -> Floats:
    return np.where(since <= T, np.nan, values)


BATCHES = {"score_min": np.zeros(N), "score_max": np.ones(N)}

CASES = (
    rows("nonfinite-values", {"pg_loss": lost(wave(0.1), 280)}, {"grad_norm": lost(wave(0.3), 299)}, CRITICAL, NOTICE),
    rows(
        "no-learning-signal",
        {"grad_norm": np.where(T > 270, 0.0, wave(0.3))},
        {"grad_norm": np.where(T > 297, 0.0, wave(0.3))},
        CRITICAL,
    ),
    rows(
        "no-learning-signal",  # a resume, or a schedule that ended before the run
        {**LEVEL, "kl_ref": wave(0.05), "lr": np.where(T > 150, 0.0, 1e-6)},
        {**LEVEL, "kl_ref": wave(0.05), "lr": np.round(1e-6 * (1 - T / N), 7)},
    ),
    rows(
        "no-learning-signal",  # cut off at one step, and where the answers came to agree as well
        {
            **LEVEL,
            "kl_ref": wave(0.05),
            "reward_std": wave(0.3),
            "grad_norm": np.where(T > 200, wave(0.0005), wave(0.3)),
        },
        {
            **LEVEL,
            "kl_ref": wave(0.05),
            "reward_std": np.where(T > 200, wave(0.1), wave(0.3)),
            "grad_norm": np.where(T > 200, wave(0.02), wave(0.3)),
        },
        CRITICAL,
    ),
    rows(
        "no-learning-signal",  # the log cuts off the digits of a rate at which the policy moves
        {**LEVEL, "kl_ref": wave(0.05), "lr": 1e-6 * np.clip(1 - T / 200, 0, 1)},
        {**LEVEL, "kl_ref": wave(0.02) + 0.1 * T / N, "lr": np.where(T > 150, 0.0, 1e-6)},
    ),
    rows(
        "advantage-degenerate",
        {**BATCHES, "advantage_min": wave(0.1), "advantage_max": wave(1.2)},
        {**BATCHES, "advantage_min": wave(-0.1), "advantage_max": wave(1.2)},
        CRITICAL,
    ),
    rows("invariant-violated", {"total_loss": wave(2e6)}, {"total_loss": wave(5e5)}, CRITICAL),
    rows(
        "pg-loss-shape",
        {"pg_loss": np.where(T > 200, 0.03, -0.03) + 0.005 * wave(1.0, 1.0)},
        {"pg_loss": np.where(T > 200, 0.04, 0.03) + 0.002 * wave(1.0, 1.0)},
        NOTICE,
    ),
    rows(
        "sudden-change",
        {
            "kl_ref": np.where(T > 200, 0.3, 0.05) * wave(1.0),
            "grad_norm": np.where(T > 200, 1.2, 0.2) * wave(1.0),
            "entropy": np.where(T > 200, 0.4, 0.3) * wave(1.0),
        },
        {
            "kl_ref": np.where(T > 200, 0.3, 0.05) * wave(1.0),
            "grad_norm": np.where(T > 230, 1.2, 0.2) * wave(1.0),
            "entropy": np.where(T > 260, 0.4, 0.3) * wave(1.0),
        },
    ),
)
