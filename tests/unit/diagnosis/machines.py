"""Runs with samples of their machine, for tests: steps of a known length that end at known times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from rltui.hardware.base import GpuSample, HardwareSample, HostSample
from rltui.run.checkpoints import Checkpoint
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run

STEP_S = 60.0
EVERY_S = 10.0
START = 1.7e9
HOST = HostSample(
    ram_used_gb=200.0, ram_total_gb=1000.0, cpu=0.4, load1=20.0, cpus=64, disk_free_gb=4000.0, disk_total_gb=8000.0
)


class TimedRun(FakeRun):
    """Every row is written `STEP_S` after the one before."""

    def grow(self, n: int | None = None) -> FakeRun:
        super().grow(n)
        table = self.history.table
        table.times[: table.n] = START + STEP_S * np.arange(1, table.n + 1)
        return self


def gpus(
    n: int = 8, power: Callable[[int], float] = lambda i: 500.0, used: float = 60.0, **fields: object
) -> tuple[GpuSample, ...]:
    one = GpuSample("n", 0, "H100", used, 80.0, 0.0, 700.0, 0.95, 60.0, sm_clock_mhz=1900, sm_clock_max_mhz=1980)
    return tuple(replace(one, index=i, power_w=power(i), throttle=(), **fields) for i in range(n))  # type: ignore[arg-type]


def sampled(
    rows: int,
    host: Callable[[float], HostSample | None] = lambda step: HOST,
    cards: Callable[[float], tuple[GpuSample, ...]] = lambda step: gpus(),
    columns: Mapping[str, object] | None = None,
    planned: int | None = None,
    checkpoints: Sequence[Checkpoint] = (),
) -> FakeRun:
    """`host` and `cards` are functions of the step that is under way, with its fraction."""
    given = {**learning_run(0, rows), "time_per_step_s": np.full(rows, STEP_S), **(columns or {})}
    run = TimedRun(given, planned=planned).grow()  # type: ignore[arg-type]
    times = np.arange(START, START + rows * STEP_S, EVERY_S)
    run.hardware = tuple(
        HardwareSample(float(t), cards((t - START) / STEP_S), host((t - START) / STEP_S), source="recorded")
        for t in times
    )
    run.set_checkpoints(checkpoints)
    return run
