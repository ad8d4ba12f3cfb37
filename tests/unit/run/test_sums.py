"""Sums and extremes by blocks against numpy's over the whole, of a column that grows and of its older states."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.run.sums import BLOCK, BlockSums

SIZES = st.integers(0, 4 * BLOCK)


@settings(deadline=None)
@given(st.lists(SIZES, min_size=1, max_size=6), SIZES, SIZES)
def test_any_stretch_of_any_state(sizes: list[int], a: int, b: int) -> None:
    column = np.random.default_rng(1).normal(3.0, 50.0, 4 * BLOCK)
    sums = BlockSums()
    for n in sizes:
        values = column[:n]
        total, low, high = sums.over(values)
        assert np.isclose(total, values.sum(), rtol=1e-9, atol=1e-6)
        assert (low, high) == (values.min(initial=np.inf), values.max(initial=-np.inf))
        start, stop = sorted((min(a, n), min(b, n)))
        assert np.isclose(sums.sum(values, start, stop), values[start:stop].sum(), rtol=1e-9, atol=1e-6)
