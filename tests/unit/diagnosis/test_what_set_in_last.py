"""A finding beside which the reward rose until something else set in does not head it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.test_no_reason_to_stop import AT, ROWS, SINCE, learns, page, ramp
from tests.unit.diagnosis.written import wave

FAR = "kl-runaway"


@pytest.mark.parametrize(
    ("rate", "slower", "order"),
    [(0.0, 0.0, ["no-learning-signal", FAR]), (1e-6, 0.6, [FAR, "step-time-regression"])],
    ids=["the rate goes to 0", "steps become slower"],
)
def test_what_set_in_last_comes_before_a_distance_that_was_paid_for(
    rate: float, slower: float, order: list[str], tmp_path: Path
) -> None:
    """The KL rose until then, and the reward with it; what only costs time does not come before it."""
    columns = learns(
        reward_mean=0.3 + 0.4 * ramp(40, 100) + wave(0, 0.04, ROWS, 1),
        lr=np.where(SINCE, rate, 1e-6),
        kl_per_token=(0.9 * ramp(30, AT - 30) + 1e-3) * np.exp(wave(0, 0.12, ROWS, 2)),
        step_time=(20.0 + 20.0 * slower * SINCE) * wave(1, 0.02, ROWS, 6),
    )
    found = page(tmp_path, {name: x for name, x in columns.items() if name != "kl"}, 190, planned=0)
    loud = [f["id"] for f in found["findings"] if f["status"] == "active" and f["severity"] == "warning"]
    assert [i for i in loud if i in order] == order
