"""Cases of the rules of pages/entropy.json."""

from __future__ import annotations

from tests.unit.rules.given import CRITICAL, FALLING, LEVEL, ramp, rows, wave

CASES = (
    rows(
        "entropy-collapse",
        {**LEVEL, "entropy": 0.9 * (1 - 0.85 * ramp(150, 140)) * wave(1.0)},
        {**LEVEL, "entropy": 0.9 * (1 - 0.45 * ramp(150, 140)) * wave(1.0)},
    ),
    rows(
        "entropy-explosion",
        {**FALLING, "entropy": 0.6 + 3.0 * ramp(150, 120) + 0.02 * wave(1.0)},
        {**FALLING, "entropy": 0.6 + 0.3 * ramp(150, 120) + 0.02 * wave(1.0)},
        CRITICAL,
    ),
)
