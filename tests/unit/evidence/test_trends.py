"""The statistics: known values, and the false-alarm rates that they were chosen for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.evidence.trends import (
    block_levels,
    flat,
    log_spikes,
    mann_kendall_p,
    median,
    onset,
    sd_d,
    theil_sen,
    trend,
    windows,
)
from tests.unit.diagnosis.series import noise

FLOATS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


def test_windows_of_an_array_with_gaps_too() -> None:
    x = np.arange(12.0)
    for part in (x, x[::2], x[3:9]):
        assert np.array_equal(windows(part, 4), np.lib.stride_tricks.sliding_window_view(part, 4))


@given(FLOATS)
def test_median_is_the_median(x: list[float]) -> None:
    assert median(np.array(x)) == pytest.approx(float(np.median(x)))


def test_noise_scale_does_not_see_a_trend() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(2000)
    assert sd_d(x) == pytest.approx(1.0, abs=0.08)
    assert sd_d(x + np.linspace(0, 100, 2000)) == pytest.approx(1.0, abs=0.1)


def test_noise_scale_of_mostly_equal_values_is_not_zero() -> None:
    x = np.zeros(50)
    x[::10] = 1.0
    assert sd_d(x) > 0.2


@pytest.mark.parametrize("n", [4, 5, 6])
def test_mann_kendall_counts_every_permutation(n: int) -> None:
    orders = [np.array(p, float) for p in itertools.permutations(range(n))]
    statistic = [abs(sum(np.sign(o[j] - o[i]) for i in range(n) for j in range(i + 1, n))) for o in orders]
    for order, s in zip(orders[:: max(1, len(orders) // 40)], statistic[:: max(1, len(orders) // 40)], strict=True):
        expected = sum(other >= s for other in statistic) / len(orders) if s else 1.0
        assert mann_kendall_p(order)[0] == pytest.approx(expected)


def test_mann_kendall_direction() -> None:
    assert mann_kendall_p(np.arange(12.0))[1] == 1
    assert mann_kendall_p(-np.arange(12.0))[1] == -1
    assert mann_kendall_p(np.ones(12)) == (1.0, 0)
    assert mann_kendall_p(np.arange(30.0))[0] < 1e-9


def test_theil_sen_ignores_an_outlier() -> None:
    t = np.arange(40.0)
    x = 2.0 * t
    x[7] = 1e6
    slope, low, high = theil_sen(t, x)
    assert slope == pytest.approx(2.0)
    assert low <= slope <= high


def test_blocks_take_the_newest_points() -> None:
    assert block_levels(np.arange(11.0), 2).tolist() == [3.0, 8.0]


@pytest.mark.parametrize(("rho", "most"), [(0.0, 0.01), (0.5, 0.03), (0.8, 0.08)])
def test_one_look_at_noise_rarely_sees_a_trend(rho: float, most: float) -> None:
    rng = np.random.default_rng(7)
    seen = sum(trend(noise(rng, 200, rho)).direction != 0 for _ in range(400))
    assert seen / 400 <= most


@pytest.mark.parametrize("n", [24, 40, 120, 200])
def test_a_drift_of_six_sd_is_seen(n: int) -> None:
    rng = np.random.default_rng(3)
    found = [trend(rng.standard_normal(n) + np.linspace(0, 6, n)).direction for _ in range(40)]
    assert sum(d == 1 for d in found) >= (20 if n < 60 else 38)
    assert -1 not in found


def test_plateau() -> None:
    rng = np.random.default_rng(5)
    assert sum(flat(trend(rng.standard_normal(100))) for _ in range(100)) >= 50
    assert not flat(trend(rng.standard_normal(100) + np.linspace(0, 4, 100)))


@pytest.mark.parametrize("ramp", [0, 60])
def test_onset_of_a_step_and_of_a_ramp(ramp: int) -> None:
    rng = np.random.default_rng(8)
    x = 0.3 * rng.standard_normal(200)
    x[120:] += np.minimum(1.0, np.arange(80) / max(ramp, 1)) * 5
    assert abs(onset(x) - 120) <= (2 if ramp == 0 else ramp / 3)


def test_onset_after_equal_values() -> None:
    x = np.full(200, 0.01)
    x[180:] += np.linspace(0.01, 0.4, 20)
    assert abs(onset(x) - 180) <= 5


def test_one_spike_does_not_move_the_onset() -> None:
    rng = np.random.default_rng(9)
    x = 0.3 * rng.standard_normal(200)
    x[120:] += 5
    x[30] = 1e9
    assert abs(onset(x) - 120) <= 2


def test_spikes_on_a_log_scale() -> None:
    rng = np.random.default_rng(10)
    x = np.exp(0.3 * rng.standard_normal(1000))
    assert log_spikes(x, 0, z=6, factor=10, floor=0.1) == []
    x[700] = 60.0
    assert log_spikes(x, 0, z=6, factor=10, floor=0.1) == [700]
    assert log_spikes(x, 701, z=6, factor=10, floor=0.1) == []


def test_spikes_before_there_are_twenty_values_are_found_as_soon_as_there_are() -> None:
    rng = np.random.default_rng(11)
    x = np.exp(0.2 * rng.standard_normal(30))
    x[[2, 12]] = 500.0  # the first is of the warm-up
    assert log_spikes(x[:19], 0, z=6, factor=10, floor=0.1) == []
    assert log_spikes(x[:20], 0, z=6, factor=10, floor=0.1) == [12]
    assert log_spikes(x, 20, z=6, factor=10, floor=0.1) == []


def test_many_spikes_of_many_sizes_are_no_mode_and_many_of_one_size_are() -> None:
    rng = np.random.default_rng(12)
    alike, wild = (0.3 * np.exp(0.1 * rng.standard_normal(100)) for _ in range(2))
    alike[4::5] = 90.0 * np.exp(0.2 * rng.standard_normal(20))
    wild[4::5] = 10 ** rng.uniform(1.5, 3.5, 20)
    given = {"z": 6.0, "factor": 10.0, "floor": 0.1, "loud": 10.0}
    assert log_spikes(alike, 50, **given) == []  # type: ignore[arg-type]
    assert len(log_spikes(wild, 50, **given)) == 10  # type: ignore[arg-type]
