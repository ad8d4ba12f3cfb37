"""Ranks, Spearman's rho and its p, false discovery rates: against known values and by their own laws."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.compare import signals
from rltui.compare.signals import false_discovery_rates, ranks, spearman, two_sided_t


def test_ties_share_their_rank() -> None:
    assert ranks([3.0, 1.0, 3.0, 2.0]).tolist() == [3.5, 1.0, 3.5, 2.0]


@pytest.mark.parametrize(
    ("t", "df", "p"),
    [(12.706, 1, 0.05), (2.228, 10, 0.05), (3.169, 10, 0.01), (2.042, 30, 0.05), (0.0, 7, 1.0)],
)
def test_t_is_that_of_the_tables(t: float, df: int, p: float) -> None:
    assert two_sided_t(t, df) == pytest.approx(p, abs=2e-4)


def test_exact_p_counts_permutations() -> None:
    found = spearman([1, 2, 3, 4], [1, 2, 3, 4])
    assert found is not None
    assert found == (1.0, pytest.approx(2 / math.factorial(4)))


def test_the_approximation_is_close_to_the_exact_p(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = [1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 4, 3, 7, 5, 8, 6]
    exact = spearman(x, y)
    monkeypatch.setattr(signals, "EXACT_TO", 2)
    close = spearman(x, y)
    assert exact is not None
    assert close is not None
    assert exact[0] == close[0]
    assert close[1] == pytest.approx(exact[1], abs=0.01)


def test_a_constant_side_has_no_correlation() -> None:
    assert spearman([1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]) is None
    assert spearman([1.0, 2.0], [1.0, 2.0]) is None


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=3, max_size=30))
def test_rho_is_bounded_symmetric_and_turns_with_a_side(pairs: list[tuple[int, int]]) -> None:
    x, y = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    found = spearman(x, y)
    if found is None:
        assert len(set(x)) == 1 or len(set(y)) == 1
        return
    rho, p = found
    assert -1 <= rho <= 1
    assert 0 <= p <= 1
    turned = spearman(x, [-v for v in y])
    assert turned is not None
    assert turned[0] == pytest.approx(-rho)
    swapped = spearman(y, x)
    assert swapped is not None
    assert swapped[0] == pytest.approx(rho)


def test_false_discovery_rates_are_those_of_the_paper() -> None:
    p = [0.01, 0.04, 0.03, 0.5]
    assert false_discovery_rates(p) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])


@given(st.lists(st.floats(0, 1), max_size=20))
def test_rates_keep_the_order_and_never_fall_below_p(p: list[float]) -> None:
    q = false_discovery_rates(p)
    assert all(b >= a - 1e-12 and b <= 1 for a, b in zip(p, q, strict=True))
    order = np.argsort(p, kind="stable")
    assert all(q[a] <= q[b] + 1e-12 for a, b in pairwise(order.tolist()))
