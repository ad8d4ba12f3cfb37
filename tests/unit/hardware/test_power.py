"""Utilisation by power, with idle learned or stated."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rltui.hardware.base import GpuSample, HardwareSample
from rltui.hardware.power import idle_power, power_utilisation

watts = st.none() | st.floats(0, 1500, allow_nan=False)


def gpu(power: float | None, util: float | None = 0.9, limit: float | None = 400.0) -> GpuSample:
    return GpuSample("n", 0, power_w=power, power_limit_w=limit, util=util)


def test_an_a100_by_power() -> None:
    assert power_utilisation(gpu(60.0)) == 0.0, "waiting for others at 100 % of its own figure"
    assert power_utilisation(gpu(230.0)) == 0.5
    assert power_utilisation(gpu(230.0), idle_w=50.0) == 180 / 350
    assert power_utilisation(gpu(430.0)) == 1.0
    assert power_utilisation(gpu(None)) is None
    assert power_utilisation(gpu(100.0, limit=None)) is None
    assert power_utilisation(gpu(100.0), idle_w=400.0) is None


def test_idle_is_learned_where_no_kernel_ran() -> None:
    seen = [HardwareSample(float(t), (gpu(p, u),)) for t, p, u in ((0, 90.0, 0.0), (1, 70.0, 0.0), (2, 55.0, 0.3))]
    assert idle_power(seen) == {("n", 0): 70.0}
    assert idle_power(seen[2:]) == {}


@given(watts, watts, watts)
def test_a_share_or_unknown(power: float | None, limit: float | None, idle: float | None) -> None:
    share = power_utilisation(gpu(power, limit=limit), idle)
    assert share is None or 0.0 <= share <= 1.0
