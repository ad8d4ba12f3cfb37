"""Cases of the rules of pages/grad.json."""

from __future__ import annotations

import numpy as np

from tests.unit.rules.given import LEVEL, NOTICE, WARNING, ramp, rows, spiked, wave

CASES = (
    rows(
        "grad-norm-explosion", {"grad_norm": spiked(0.3, [290, 296], 60.0)}, {"grad_norm": spiked(0.3, [290, 296], 7.0)}
    ),
    rows(
        "grad-norm-ramp",
        {**LEVEL, "grad_norm": 0.3 * np.exp(1.5 * ramp(100, 150)) * wave(1.0)},
        {**LEVEL, "grad_norm": 0.3 * np.exp(0.5 * ramp(100, 150)) * wave(1.0)},
    ),
    rows(
        "grad-always-clipped", {"grad_norm": wave(6.0)}, {"grad_norm": wave(4.5)}, NOTICE, config={"max_grad_norm": 1.0}
    ),
    rows(  # a run that learns bears a clip that is far too small
        "grad-always-clipped",
        {**LEVEL, "grad_norm": wave(6.0)},
        {"grad_norm": wave(6.0)},
        WARNING,
        NOTICE,
        config={"max_grad_norm": 0.05},
    ),
)
