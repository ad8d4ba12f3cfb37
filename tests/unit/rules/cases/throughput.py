"""Cases of the rules of pages/throughput.json."""

from __future__ import annotations

import numpy as np

from rltui.hardware.base import GpuSample
from rltui.run.table import Floats
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.machines import gpus, sampled
from tests.unit.rules.given import NOTICE, N, machine, ramp, rows, wave

PHASED = {"time_per_step_s": wave(100.0), "phase:update_actor": wave(10.0)}


def generating(power: float) -> FakeRun:
    """In the second half of each generation the GPUs beside GPU 2 draw so much."""

    def cards(step: float) -> tuple[GpuSample, ...]:
        late, training = 0.3 <= step % 1.0 < 0.6, step % 1.0 >= 0.6
        return gpus(power=lambda i: 630.0 if training else power if late and i != 2 else 500.0)

    run = sampled(
        60, cards=cards, columns={"timing_s/gen": np.full(60, 36.0), "timing_s/update_actor": np.full(60, 24.0)}
    )
    run.dialect = "verl"
    return run


def two_kinds(share: float, later: float) -> Floats:
    """Steps of .15 and .7 s, as the longest answer ends by itself or at the limit, `later` times that from row 200."""
    long = np.random.default_rng(1).random(N) < share
    return np.asarray(np.where(long, wave(0.7, 0.1), wave(0.15, 0.1, 2)) * np.where(np.arange(N) < 200, 1.0, later))


CASES = (
    rows(
        "step-time-regression",
        {"time_per_step_s": wave(60.0) * (1 + 0.8 * ramp(200, 5))},
        {"time_per_step_s": wave(60.0) * (1 + 0.2 * ramp(200, 5))},
    ),
    rows("step-time-regression", {"time_per_step_s": two_kinds(0.5, 5.0)}, {"time_per_step_s": two_kinds(0.5, 1.0)}),
    rows("phase-bottleneck", {**PHASED, "phase:rollout": wave(88)}, {**PHASED, "phase:rollout": wave(75)}, NOTICE),
    rows(
        "rollout-straggler",
        {"time_per_step_s": wave(60), "phase:rollout": wave(45), "response_length_max": wave(4000)},
        {"time_per_step_s": wave(60), "phase:rollout": wave(45), "response_length_max": wave(1500)},
        NOTICE,
    ),
    machine("rollout-straggler", lambda: generating(110.0), lambda: generating(500.0), NOTICE),
)
