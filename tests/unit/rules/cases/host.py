"""Cases of the rules of pages/host.json."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from rltui.hardware.base import HostProcess
from rltui.run.checkpoints import Checkpoint
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.machines import HOST, STEP_S, sampled
from tests.unit.rules.given import CRITICAL, NOTICE, WARNING, machine


def filled(used: float) -> FakeRun:
    """So many of 1,000 GB of memory."""
    return sampled(40, lambda step: replace(HOST, ram_used_gb=used))


def free(left: float) -> FakeRun:
    """Room on the disk, shortly before another checkpoint of 100 GB."""
    saved = [Checkpoint(step, f"run/global_step_{step}", True, size_gb=100.0) for step in range(10, 51, 10)]
    return sampled(55, lambda step: replace(HOST, disk_free_gb=left), planned=60, checkpoints=saved)


def beside(seconds: float, aside: bool = True) -> FakeRun:
    """From step 45 on a merger runs and a step takes so long, before it took 60 s. `aside`: it is no part of the
    training."""
    merger = HostProcess(77, "merger", "python -m verl.model_merger merge", 90.0, aside=aside)
    took = np.where(np.arange(60) >= 45, seconds, STEP_S)
    return sampled(
        60,
        lambda step: replace(HOST, processes=(merger,)) if step >= 45 else HOST,
        columns={"time_per_step_s": took},
    )


CASES = (
    machine("host-ram-creep", lambda: filled(951.0), lambda: filled(840.0), CRITICAL),
    machine("disk-space-low", lambda: free(50.0), lambda: free(210.0), CRITICAL),
    machine("background-interference", lambda: beside(95.0), lambda: beside(70.0), WARNING, NOTICE),
    machine("background-interference", lambda: beside(60.0), lambda: beside(95.0, aside=False), NOTICE),
)
