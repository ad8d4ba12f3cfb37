from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.plots.numbers import change, duration, fixed_decimals, integer, number, percent, setting_value, shorn, size


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0041, "0.0041"), (0.208, "0.208"), (29.9, "29.9"), (812, "812"), (1442, "1442"), (12_800, "12.8k"),
        (-0.25, "−0.250"), (0, "0.000"), (9.999, "10.0"), (99.99, "100"), (9_994, "9994"), (9_996, "10.0k"),
        (999_960, "1.00M"), (1.5e9, "1.50G"), (0.00041, "0.00041"), (3e-6, "3e-6"), (1.25e-7, "1.2e-7"),
        (2e19, "2.00e19"),
        (None, "not logged"), (math.nan, "not logged"), (math.inf, "∞"), (-math.inf, "−∞"),
    ],
)  # fmt: skip
def test_three_significant_digits_and_no_exponent_on_measurements(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (12_000, "12k"), (8, "8"), (0, "0"), (1200, "1200"), (0.1239, "0.124"), (-2.5, "−2.5"),
     (1.5e-10, "1.5e-10"), (-2e-20, "−2e-20"), (1.2e20, "1.2e20"), (1e30, "1e30")],
)  # fmt: skip
def test_in_a_sentence_only_the_zeros_behind_the_point_go(value: float, text: str) -> None:
    assert shorn(number(value)) == text


def test_sign_and_fixed_decimals() -> None:
    assert number(0.5, sign=True) == "+0.500"
    assert number(-0.5, sign=True) == "−0.500"
    assert number(0.1239, decimals=2) == "0.12"
    assert number(-0.0004, decimals=3) == "0.000", "no minus on a zero"
    assert number(None, missing="n/a") == "n/a"


def test_decimals_follow_the_median_and_do_not_dance() -> None:
    assert fixed_decimals([0.004, 0.05, 0.06, 0.2]) == 3
    assert fixed_decimals([812.0, 9.0, 1442.0]) == 0
    assert fixed_decimals([0.0, math.nan]) == 3
    assert fixed_decimals([0.5] * 100_000 + [1e6]) == 3


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (0.034, 0.163, "4.8×"), (119, 179, "1.5×"), (119, 178, "+50 %"), (0.884, 0.300, "−66 %"),
        (0.618, 0.611, "−1 %"),
        (1, 1.001, "→"), (2, 2, "→"), (1, 1e-9, "−99.9 %"), (1, 0, "−100 %"), (0, 0.005, "+0.0050"), (-2, -1, "+1.00"),
        (0.5, -0.5, "−1.00"), (1, 250, "250×"), (None, 1, ""), (1, math.nan, ""), (5e-324, 1e300, "+1.00e300"),
    ],
)  # fmt: skip
def test_change_is_a_multiple_from_1_5_fold_on_and_percent_below(first: float, last: float, text: str) -> None:
    assert change(first, last) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"), (0.42, "0.4 s"), (192, "192 s"), (599.7, "10 m"), (840, "14 m"), (3599, "1 h 0 m"),
        (33_120, "9 h 12 m"),
        (226_800, "2 d 15 h"), (86_399, "1 d 0 h"), (-30, "−30 s"), (None, "not logged"), (math.inf, "not logged"),
    ],
)  # fmt: skip
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_sizes_shares_and_counts() -> None:
    assert [size(x) for x in (0, 0.512, 71.2, 1007, 5200, 2e-4, None)] == [
        "0 GB", "512 MB", "71.2 GB", "1.01 TB", "5.20 TB", "200 kB", "n/a",
    ]  # fmt: skip
    assert [percent(x) for x in (0, 0.714, 0.0339, 0.0004, None)] == ["0 %", "71 %", "3.4 %", "0.04 %", "not logged"]
    assert percent(-0.05, sign=True) == "−5.0 %"
    assert [integer(x) for x in (812, 9999, 12_345, -3, None)] == ["812", "9999", "12 345", "−3", "not logged"]


@given(st.floats())
def test_any_float_is_short_and_has_no_hyphen_for_a_minus(x: float) -> None:
    for text in (number(x), number(x, decimals=3, sign=True), percent(x), size(x), change(1.0, x), change(x, 1.0)):
        assert len(text) <= 13
        assert not text.startswith("-")
    duration(x)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-0.3, "−0.3"),
        (-1, "−1"),
        (-1e-06, "−1e-6"),
        (1e-06, "1e-6"),
        (0, "0"),
        (True, "True"),
        ("-x", "-x"),
        (None, "None"),
    ],
)
def test_a_setting_is_shown_with_the_minus_of_all_numbers(value: object, shown: str) -> None:
    assert setting_value(value) == shown
