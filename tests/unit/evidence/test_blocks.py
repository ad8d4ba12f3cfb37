"""Whole-run statistics at bounded cost equal those computed directly, in any order of asking."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.evidence.blocks import MOST, BlockCache


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=6), st.integers(0, 100))
def test_blocks_do_not_depend_on_what_was_asked_before(lengths: list[int], seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal(3000)
    cache = BlockCache()
    for n in lengths:
        warm, cold = cache.get("x", x[:n]), BlockCache().get("x", x[:n])
        assert np.array_equal(warm.levels, cold.levels)
        assert len(warm.levels) <= MOST
        assert warm.lows.min() == x[:n].min()
        assert warm.highs.max() == x[:n].max()


def test_a_revised_point_is_forgotten() -> None:
    x = np.arange(2000.0)
    cache = BlockCache()
    cache.get("x", x)
    x[1500] = -5.0
    cache.forget("x", 1500)
    assert cache.get("x", x).lows.min() == -5.0
    assert np.array_equal(cache.get("x", x).levels, BlockCache().get("x", x).levels)
