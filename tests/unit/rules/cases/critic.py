"""Cases of the rules of pages/critic.json."""

from __future__ import annotations

from tests.unit.rules.given import FALLING, LEVEL, NONE, N, T, ramp, rows, spiked, wave

RISING = {"score_mean": 0.2 + 0.4 * T / N + 0.02 * wave(1.0, 0.3, 5), "val_score": NONE}

CASES = (
    rows("critic-uninformative", {**LEVEL, "vf_explained_var": wave(-0.1)}, {**LEVEL, "vf_explained_var": wave(0.3)}),
    rows(
        "critic-uninformative",
        {**RISING, "vf_explained_var": wave(0.6) - 0.8 * ramp(180, 60)},
        {**RISING, "vf_explained_var": wave(0.6) - 0.3 * ramp(180, 60)},
    ),
    rows(
        "value-loss-explosion",
        {**LEVEL, "vf_loss": wave(0.5) * 10 ** ramp(180, 80)},
        {**LEVEL, "vf_loss": wave(0.5) * 2 ** ramp(180, 80)},
    ),
    rows(
        "value-loss-explosion",
        {**FALLING, "vf_loss": spiked(0.5, [270, 285], 40)},
        {**FALLING, "vf_loss": spiked(0.5, [270, 285], 5)},
    ),
)
