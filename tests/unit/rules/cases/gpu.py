"""Cases of the rules of pages/gpu.json."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.machines import gpus, sampled
from tests.unit.rules.given import CRITICAL, machine


def filled(used: float) -> FakeRun:
    """So many of 80 GB on each GPU."""
    return sampled(60, cards=lambda step: gpus(used=used))


def one(**fields: Any) -> FakeRun:
    """GPU 3 differs from step 30 on."""
    return sampled(
        60, cards=lambda step: tuple(replace(g, **fields) if g.index == 3 and step >= 30 else g for g in gpus())
    )


def slowed(clock: int) -> FakeRun:
    """A hot GPU at so many of 1980 MHz."""
    return one(sm_clock_mhz=clock, throttle=("thermal",))


CASES = (
    machine("gpu-memory-pressure", lambda: filled(78.5), lambda: filled(73.5)),
    machine("gpu-fault-or-throttle", lambda: one(xids=(79,)), lambda: one(xids=(31,)), CRITICAL),
    machine("gpu-fault-or-throttle", lambda: slowed(990), lambda: slowed(1700)),
)
