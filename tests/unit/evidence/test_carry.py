"""How much of the noise of a point the next one carries on, beside a fall that is no noise."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.evidence.effects import carry


@pytest.mark.parametrize("rows", [20, 40])
def test_a_fall_at_once_is_no_noise_that_carries_on(rows: int) -> None:
    """Of white noise that fell by 8 sd it seems to carry on little more than of white noise; what does carry on is seen
    beside a fall, too."""
    rng = np.random.default_rng(3)

    def drawn(rho: float) -> np.ndarray:
        x = np.zeros(rows + 50)
        for i in range(1, rows + 50):
            x[i] = rho * x[i - 1] + rng.normal() * np.sqrt(1 - rho * rho)
        return x[50:]

    fallen = np.where(np.arange(rows) >= rows - 8, -8.0, 0.0)
    means = {rho: np.mean([carry(drawn(rho) + fallen) for _ in range(200)]) for rho in (0.0, 0.8)}
    assert means[0.0] < 0.35
    assert means[0.8] > 0.6
