"""Cases of the rules of pages/offpolicy.json."""

from __future__ import annotations

import numpy as np

from tests.unit.rules.given import CRITICAL, LEVEL, NOTICE, WARNING, N, noise, ramp, rows, wave

ROUGH = 0.01 * noise(np.random.default_rng(1), N)
CASES = (
    rows("policy-step-too-large", {"clip_frac": wave(0.25)}, {"clip_frac": wave(0.08)}),
    rows(  # what was gained before excuses no fall
        "staleness-high",
        {"score_mean": 0.3 + 0.4 * ramp(0, 120) - 0.2 * ramp(150, 100) + ROUGH, "staleness_mean": wave(6)},
        {"score_mean": 0.3 + 0.4 * ramp(0, 120) - 0.2 * ramp(150, 100) + ROUGH, "staleness_mean": wave(1.5)},
        CRITICAL,
        NOTICE,
        opened={"reward-peak-decline": WARNING},
    ),
    rows("staleness-high", {**LEVEL, "staleness_mean": wave(2.5)}, {**LEVEL, "staleness_mean": wave(0.9)}),
)
