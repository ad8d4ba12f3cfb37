"""Cases of the rules of pages/ckpt.json."""

from __future__ import annotations

import numpy as np

from rltui.run.checkpoints import Checkpoint
from rltui.run.run import RunState
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.machines import sampled
from tests.unit.rules.given import NOTICE, Case, Stands, T, machine, rows, validation, wave

PEAKED = {"val_score": validation(150, 0.2)}
OVER = RunState("finished", "the trainer says that it is done")


def saving(seconds: float) -> FakeRun:
    """A checkpoint of 100 GB every ten steps, written in so many seconds."""
    took = np.where((np.arange(60) + 1) % 10 == 0, seconds, 0.0)
    saved = [Checkpoint(step, f"run/global_step_{step}", True, size_gb=100.0) for step in range(10, 61, 10)]
    return sampled(60, columns={"phase:save_checkpoint": took}, checkpoints=saved)


CASES = (
    rows(
        "checkpoint-slow",
        {"time_per_step_s": wave(60), "phase:save_checkpoint": np.where(T % 20 == 0, 200.0, 0.0)},
        {"time_per_step_s": wave(60), "phase:save_checkpoint": np.where(T % 20 == 0, 40.0, 0.0)},
        NOTICE,
    ),
    machine("checkpoint-slow", lambda: saving(1000.0), lambda: saving(90.0)),
    Case("best-checkpoint-unavailable", Stands(PEAKED, OVER, (10, 290)), Stands(PEAKED, OVER, (10, 160, 290))),
)
