from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.plots.axis import column, labels, log_ticks, rail, round_step, ticks
from rltui.plots.glyphs import ASCII, BLOCK
from rltui.plots.spark import bucket_means, downsample, robust_range, sparkline

N = 812
STEPS = np.arange(1, N + 1)


def levels(line: str) -> list[int]:
    return [BLOCK.spark.index(ch) for ch in line]


def test_a_flat_metric_looks_flat() -> None:
    noise = np.random.default_rng(0).standard_normal(N)
    tight = levels(sparkline(STEPS, 0.5 + 0.01 * noise, 37, 1, N))
    assert max(tight) - min(tight) <= 1
    pure = levels(sparkline(STEPS, noise, 37, 1, N))
    assert max(pure) - min(pure) <= 3, "noise around zero does not fill the height"
    assert set(sparkline(STEPS, np.full(N, 3.0), 37, 1, N)) <= set("▄▅")
    assert set(sparkline(STEPS, np.zeros(N), 37, 1, N)) == {"▁"}


def test_a_real_rise_fills_the_height() -> None:
    shown = levels(sparkline(STEPS, np.linspace(0.03, 0.2, N), 37, 1, N))
    assert shown == sorted(shown)
    assert shown[0] == 0
    assert shown[-1] == 6


def test_range_is_the_largest_of_robust_range_median_share_and_jitter() -> None:
    low, high = robust_range(np.full(9, 10.0))
    assert (low, high) == pytest.approx((10 - 1.75, 10 + 1.75))
    zigzag = np.tile([0.0, 1.0], 50)
    low, high = robust_range(zigzag)
    assert high - low == pytest.approx(3.0)
    assert (low + high) / 2 == pytest.approx(0.5)
    spike = np.concatenate([np.linspace(0, 1, 500), [1e9]])
    low, high = robust_range(spike[:-1])
    assert (low, high) == pytest.approx((0.01, 0.99), abs=0.01)
    assert robust_range([]) == (0.0, 0.0)
    assert robust_range([math.nan]) == (0.0, 0.0)


def test_one_huge_value_does_not_flatten_the_rest() -> None:
    values = np.linspace(0.03, 0.2, N)
    values[400] = 1e9
    shown = levels(sparkline(STEPS, values, 37, 1, N))
    assert shown[0] < 3
    assert shown[18] == 6
    assert shown[-1] > shown[0]


def test_rows_share_the_step_axis_whatever_their_rows() -> None:
    late = sparkline(STEPS[400:], np.ones(412), 40, 1, N)
    start = column(401, 1, N, 40)
    assert late[:start] == " " * start
    assert " " not in late[start:]


def test_sparse_metrics_are_held_and_real_gaps_are_blank() -> None:
    every20 = STEPS[19::20]
    line = sparkline(every20, np.linspace(0, 1, len(every20)), 80, 1, N)
    assert line.strip().count(" ") == 0
    gap = np.concatenate([STEPS[:200], STEPS[600:]])
    line = sparkline(gap, np.ones(len(gap)), 40, 1, N)
    assert line[column(300, 1, N, 40)] == " "
    assert line[0] != " "
    assert line[-1] != " "


def test_nan_is_a_gap_only_where_a_cell_has_nothing_else() -> None:
    values = np.ones(N)
    values[0:500:2] = math.nan
    assert " " not in sparkline(STEPS, values, 37, 1, N)
    values[100:200] = math.nan
    assert sparkline(STEPS, values, 37, 1, N)[column(150, 1, N, 37)] == " "
    assert sparkline(STEPS, np.full(N, math.nan), 10, 1, N) == " " * 10
    assert sparkline([], [], 10, 1, N) == " " * 10


def test_bucket_means_are_means_of_the_steps_in_the_cell() -> None:
    values = np.random.default_rng(1).standard_normal(N)
    means = bucket_means(STEPS, values, 37, 1, N)
    cells = [column(s, 1, N, 37) for s in STEPS.tolist()]
    expected = [np.mean([v for v, c in zip(values, cells, strict=True) if c == cell]) for cell in range(37)]
    np.testing.assert_allclose(means, expected)
    part = bucket_means(STEPS, values, 10, 101, 200)
    np.testing.assert_allclose(part, values[100:200].reshape(10, 10).mean(axis=1))


def test_fixed_bounds_and_ascii() -> None:
    power = [0.0, 350.0, 700.0]
    assert sparkline([1, 2, 3], power, 3, 1, 3, bounds=(0, 700)) == "▁▄▇"
    assert sparkline([1, 2, 3], power, 3, 1, 3, ASCII, bounds=(0, 700)) == "_:+"


def test_downsample_keeps_spikes_and_skips_nan() -> None:
    steps = np.arange(100_000)
    values = np.zeros(100_000)
    values[50_123], values[70_001] = 9.0, -9.0
    values[::3] = math.nan
    values[50_123] = 9.0
    at, low, high = downsample(steps, values, 400)
    assert len(at) == 400
    assert np.nanmax(high) == 9.0
    assert not np.isnan(low).any()
    assert np.isnan(downsample(steps, np.full(100_000, math.nan), 10)[1]).all()
    few = downsample([1, 2], [3, 4], 10)
    assert few[1].tolist() == [3, 4]


any_float = st.floats(width=64)


@given(
    st.lists(st.tuples(st.integers(-(10**6), 10**9), any_float), max_size=60),
    st.integers(0, 50),
    st.integers(-10, 10**6),
    st.integers(-10, 10**6),
)
def test_any_input_gives_exactly_the_width(points: list[tuple[int, float]], width: int, first: int, last: int) -> None:
    points.sort(key=lambda p: p[0])
    steps, values = [s for s, _ in points], [v for _, v in points]
    line = sparkline(steps, values, width, first, last)
    assert len(line) == width
    low, high = robust_range(values)
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert low <= high
    at, lows, highs = downsample(steps, values, max(1, width))
    assert len(at) == len(lows) == len(highs) <= max(1, width)


@given(st.integers(0, 200), st.integers(1, 400), st.integers(1, 120))
def test_a_step_and_its_sparkline_cell_agree(first: int, length: int, width: int) -> None:
    for step in {first, first + length // 2, first + length - 1}:
        cells = bucket_means(np.array([step]), [1.0], width, first, first + length - 1)
        assert np.flatnonzero(~np.isnan(cells)).tolist() == [column(step, first, first + length - 1, width)]


def test_axis_labels_stand_at_their_steps() -> None:
    text = labels(1, 812, 37)
    assert text == "1        200      400      600    812"
    assert text.index("400") == column(400, 1, 812, 37)
    assert rail([(600, "◆"), (640, "▼"), (9_999, "!")], 1, 812, 37).rstrip() == " " * 27 + "◆ ▼"
    assert labels(5, 5, 10) == "5         "
    assert labels(1, 123_456, 4) == "    "


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 200))
def test_axis_labels_have_the_width(first: int, extra: int, width: int) -> None:
    assert len(labels(first, first + extra, width)) == width


def test_round_ticks() -> None:
    assert ticks(0, 0.21, 5) == pytest.approx([0, 0.05, 0.1, 0.15, 0.2])
    assert ticks(-3, 7, 5) == [-2, 0, 2, 4, 6]
    assert round_step(811, 4) == 500
    assert log_ticks(1e-3, 1e3) == pytest.approx([1e-3, 1e-1, 1e1, 1e3])
    assert log_ticks(0.04, 0.3) == pytest.approx([0.05, 0.1, 0.2])
