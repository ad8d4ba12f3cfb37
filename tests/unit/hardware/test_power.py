"""Utilisation by power, with idle learned or usual."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.hardware.base import GpuSample, HardwareSample
from rltui.run.hardware import SampleColumns, columns

watts = st.none() | st.floats(0, 1500, allow_nan=False)


def samples(*power: float | None, util: float | None = 0.9, limit: float | None = 400.0) -> SampleColumns:
    gpus = (GpuSample("n", 0, power_w=p, power_limit_w=limit, util=util) for p in power)
    return columns(tuple(HardwareSample(float(t), (gpu,)) for t, gpu in enumerate(gpus)))


def use(seen: SampleColumns, idle: float | None = None) -> list[float]:
    found: list[float] = seen.power_use(seen.idle_w() if idle is None else np.array([idle]))[:, 0].tolist()
    return found


def test_an_a100_by_power() -> None:
    seen = samples(60.0, 230.0, 430.0, None)
    assert use(seen) == pytest.approx([0.0, 0.5, 1.0, np.nan], nan_ok=True), "60 W: it waits, at 90 % of its own figure"
    assert use(seen, 50.0) == pytest.approx([10 / 350, 180 / 350, 1.0, np.nan], nan_ok=True)
    assert np.isnan(use(samples(100.0, limit=None))).all()
    assert np.isnan(use(seen, 400.0)).all(), "idle at the limit"


def test_idle_is_learned_where_no_kernel_ran() -> None:
    told = zip((90.0, 70.0, 55.0), (0.0, 0.0, 0.3), strict=True)
    seen = tuple(HardwareSample(0.0, (GpuSample("n", 0, power_w=p, power_limit_w=400.0, util=u),)) for p, u in told)
    assert columns(seen).idle_w().tolist() == [70.0]
    assert columns(seen[2:]).idle_w().tolist() == [60.0], "15 % of the limit where it was never seen idle"


@given(watts, watts, st.floats(0, 1500, allow_nan=False))
def test_a_share_or_unknown(power: float | None, limit: float | None, idle: float) -> None:
    (share,) = use(samples(power, limit=limit), idle)
    assert np.isnan(share) or 0.0 <= share <= 1.0
