"""A level is the median, or the mean of points of few values: told by a short way, equal to the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rltui.run.sums import EACH, TIED, few_valued, level_of, levels_of, median

POINTS = st.one_of(
    st.lists(st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0]), min_size=1, max_size=40),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
)


def by_definition(x: np.ndarray) -> bool:
    off = x != median(x)
    others = int(off.sum())
    stretches = int(off[0]) + int((off[1:] & ~off[:-1]).sum())
    enough = EACH <= others <= (1.0 - TIED) * len(x) and stretches >= EACH
    return enough and EACH * len(set(x[off].tolist())) <= others


@given(POINTS)
def test_few_values_are_told_as_defined(points: list[float]) -> None:
    x = np.array(points)
    assert few_valued(x) == by_definition(x)
    assert level_of(x) == (float(np.add.reduce(x)) / len(x) if by_definition(x) else median(x))


@given(st.lists(POINTS, min_size=1, max_size=5))
def test_a_table_has_the_levels_of_its_rows(rows: list[list[float]]) -> None:
    n = min(map(len, rows))
    table = np.array([row[:n] for row in rows])
    assert levels_of(table).tolist() == [level_of(row) for row in table]
