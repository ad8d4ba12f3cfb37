"""Cases of the rules of pages/offpolicy.json."""

from __future__ import annotations

from tests.unit.rules.given import LEVEL, rows, wave

CASES = (
    rows("policy-step-too-large", {"clip_frac": wave(0.25)}, {"clip_frac": wave(0.08)}),
    rows("staleness-high", {**LEVEL, "staleness_mean": wave(2.5)}, {**LEVEL, "staleness_mean": wave(0.9)}),
)
