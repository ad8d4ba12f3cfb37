"""What is worked out in a quick way is what the plain way gives, to the last digit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.evidence import shifts as by_shifts
from rltui.evidence import trends
from rltui.evidence.effects import noise
from rltui.evidence.shifts import MARGIN, shifts
from rltui.evidence.stretches import on_rows
from rltui.evidence.trends import running_medians, turn
from rltui.rules.base import rows_of_all
from rltui.run.sums import median
from rltui.run.table import Floats, Ints, Series

FEW = [-1.0, 0.0, 0.5, 0.5000000000000001, 1.0]
VALUES = st.one_of(st.floats(-1e6, 1e6), st.sampled_from(FEW))  # ties as well


def series(rows: list[int], values: list[float]) -> Series:
    at: Ints = np.array(rows, dtype=np.int64)
    return Series("x", at, np.array(values), at, np.full(len(rows), np.nan), True)


@given(st.lists(VALUES, min_size=2, max_size=60))
def test_medians_of_five_are_those_of_the_sorted_neighbours(values: list[float]) -> None:
    x = np.array(values)
    around = np.concatenate((x[:2], x, x[-2:]))
    assert running_medians(x).tolist() == [sorted(around[i : i + 5])[2] for i in range(len(x))]


@given(st.lists(VALUES, min_size=11, max_size=80), st.sampled_from([1, 3, 5]))
def test_a_turn_is_that_of_the_ranks_of_numpy(values: list[float], margin: int) -> None:
    x = np.array(values)
    _, where, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2.0)[where]
    ranks -= ranks.mean()
    expected = len(x) - 1, 0.0
    if ranks.any():
        y = running_medians(x)
        at = trends._two_segments(y - y.mean(), margin)
        expected = at, abs(float(ranks[at:].mean() - ranks[:at].mean())) / (len(x) / 2.0)
    assert turn(x, margin) == expected


def jumps(seed: int, rows: int, jump: float) -> Floats:
    """Noise that goes to another level at two places."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(rows)
    for at in rng.integers(0, rows, 2):
        x[at:] += jump * rng.standard_normal()
    return x


@pytest.mark.parametrize("rows", [8, 30, 200, 511, 512, 513, 900])
@pytest.mark.parametrize("jump", [0.0, 3.0, 30.0])
def test_shifts_with_the_noise_that_is_known(rows: int, jump: float) -> None:
    for seed in range(6):
        x, steps = jumps(seed, rows, jump), np.arange(rows)
        assert shifts(steps, x, noise(x)) == shifts(steps, x)


@given(st.lists(VALUES, min_size=2 * MARGIN, max_size=50), st.integers(MARGIN, 45), VALUES)
def test_a_cut_is_placed_where_counting_each_place_says(values: list[float], best: int, middle: float) -> None:
    x = np.array(values)
    best = min(best, len(x) - MARGIN)
    low, high = max(MARGIN, best - MARGIN), min(len(x) - MARGIN, best + MARGIN)
    up = bool(median(x[best:]) > middle)
    after = x[low - MARGIN : high + MARGIN] > middle
    right = after if up else ~after
    count = [int((~right[: at - low + MARGIN]).sum() + right[at - low + MARGIN :].sum()) for at in range(low, high + 1)]
    assert by_shifts._place(x, best, middle) == (low + int(np.argmax(count)) if count else best)


@given(st.sets(st.integers(0, 12), min_size=1), st.sets(st.integers(0, 12)))
def test_values_on_the_rows_of_another_metric(own: set[int], others: set[int]) -> None:
    rows, held = sorted(own), sorted(others)
    values = [float(row) for row in held]
    seen = on_rows(np.array(rows), series(held, values))
    expected = [dict(zip(held, values, strict=True)).get(row, np.nan) for row in rows]
    assert np.array_equal(seen, np.array(expected), equal_nan=True)


@given(st.lists(st.sets(st.integers(0, 20), min_size=1), min_size=2, max_size=4))
def test_rows_that_several_metrics_share(several: list[set[int]]) -> None:
    rows = [np.array(sorted(one)) for one in several]
    common = rows_of_all(rows, 21)
    assert np.flatnonzero(common).tolist() == sorted(set.intersection(*several))
    for one in rows:
        assert np.array_equal(common[one], np.isin(one, np.flatnonzero(common)))
