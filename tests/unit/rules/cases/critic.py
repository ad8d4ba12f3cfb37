"""Cases of the rules of pages/critic.json."""

from __future__ import annotations

from tests.unit.rules.given import FALLING, LEVEL, rows, spiked, wave

CASES = (
    rows("critic-uninformative", {**LEVEL, "vf_explained_var": wave(-0.1)}, {**LEVEL, "vf_explained_var": wave(0.3)}),
    rows(
        "value-loss-explosion",
        {**FALLING, "vf_loss": spiked(0.5, [270, 285], 40)},
        {**FALLING, "vf_loss": spiked(0.5, [270, 285], 5)},
    ),
)
