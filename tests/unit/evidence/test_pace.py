"""Seconds a step and time left, from the times of the rows or from the logged step time."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.evidence.clock import pace
from rltui.run.table import Floats, Ints, Series

NO_TIMES = np.full(40, np.nan)


def steps(n: int, every: int = 1) -> Ints:
    return np.arange(1, n + 1, dtype=np.int64) * every


def timer(values: Floats) -> Series:
    at = np.arange(len(values), dtype=np.int64)
    return Series("t", at, values, at, np.full(len(values), np.nan))


def test_the_times_of_rows_go_before_the_logged_step_time() -> None:
    found = pace(steps(40), 10.0 * np.arange(40), [], timer(np.full(40, 7.0)), 30)
    assert found is not None
    assert (found.step_s, found.left_s, found.by) == (10.0, 300.0, "times")
    found = pace(steps(40), NO_TIMES, [], timer(np.full(40, 7.0)), 10)
    assert found is not None
    assert (found.left_s, found.by) == (pytest.approx(70.0), "timer")
    assert pace(steps(40), NO_TIMES, [], None, 10) is None


@pytest.mark.parametrize("every", [1, 5])
def test_rows_are_no_steps(every: int) -> None:
    found = pace(steps(40, every), 3.0 * steps(40, every), [], None, 100)
    assert found is not None
    assert found.left_s == pytest.approx(300.0)


def test_what_comes_again_belongs_to_the_pace_and_a_pause_does_not() -> None:
    seconds = np.where(np.arange(100) % 10 == 9, 100.0, 10.0)
    often = pace(steps(100), np.cumsum(seconds), [], None, 100)
    assert often is not None
    assert often.left_s == pytest.approx(1900.0, rel=0.05)
    assert often.low_s is not None
    assert often.high_s is not None
    assert often.low_s < 1900.0 < often.high_s
    paused = pace(steps(100), np.cumsum(np.where(np.arange(100) == 80, 36000.0, 10.0)), [], None, 100)
    assert paused is not None
    assert paused.left_s == pytest.approx(1000.0)


def test_nothing_is_timed_over_a_restart() -> None:
    seconds = np.where(np.arange(40) == 20, 50.0, 10.0)
    found = pace(steps(40), np.cumsum(seconds), [21], None, 10)
    assert found is not None
    assert found.step_s == 10.0
    assert found.left_s == 100.0


def test_at_the_end_nothing_is_left() -> None:
    found = pace(steps(40), 10.0 * np.arange(40), [], None, 0)
    assert found is not None
    assert found.left_s is None
    assert found.step_s == 10.0
