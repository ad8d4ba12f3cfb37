"""Forecasts: right within their error bars on known courses, silent where nothing moves or the end is far."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.evidence.blocks import BlockCache
from rltui.evidence.forecast import crossing, end_of_run, entropy_floor, forecasts, length_limit
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.model import Forecast
from rltui.evidence.profile import RunSettings
from rltui.run.table import Floats, Series
from tests.unit.diagnosis.fake_run import FakeRun

ROWS = 300


def look(columns: dict[str, Floats], planned: int | None = None, cap: int | None = None) -> Look:
    run = FakeRun(columns, planned=planned, config={"max_response_length": cap} if cap else None).grow()
    return Look(LookFeed(run, BlockCache(), RunSettings.of(run)), run.history.table.n, {})


def noise(seed: int, rho: float = 0.5, n: int = ROWS) -> Floats:
    rng = np.random.default_rng(seed)
    out = rng.normal(size=n)
    for i in range(1, n):
        out[i] += rho * out[i - 1]
    return out * np.sqrt(1 - rho * rho)


def test_error_bars_hold_the_true_crossing_about_nine_times_in_ten() -> None:
    found: list[Forecast] = []
    truth = (1000 - 400) / 1.5  # step at which 400 + 1.5 a step is 1000
    for seed in range(100):
        lengths = 400 + 1.5 * (np.arange(ROWS) + 1) + 20 * noise(seed)
        one = length_limit(look({"response_length_mean": lengths}, cap=1000))
        assert one is not None
        found.append(one)
    inside = sum(f.low <= truth <= (f.high or np.inf) for f in found)
    assert inside >= 80
    assert np.median([f.at for f in found]) == pytest.approx(truth, rel=0.02)
    assert "if it goes on" in found[0].text


def test_entropy_decays_towards_its_floor() -> None:
    steps = np.arange(ROWS) + 1
    entropy = 0.8 * np.exp(-steps / 200) * np.exp(0.03 * noise(1))
    one = entropy_floor(look({"entropy": entropy}), 0.05)
    assert one is not None
    assert one.at == pytest.approx(200 * np.log(0.8 / 0.05), rel=0.05)
    assert one.low < one.at < (one.high or np.inf)


def test_noise_is_not_continued() -> None:
    for seed in range(50):
        still = look(
            {"response_length_mean": 400 + 20 * noise(seed), "entropy": 0.5 + 0.02 * noise(seed + 99)}, cap=450
        )
        assert forecasts(still, 0.1, Guard()) == ()


def test_nothing_is_said_beyond_the_plan_or_away_from_the_level() -> None:
    rising = 400 + 1.5 * np.arange(ROWS) + 5 * noise(2)
    assert length_limit(look({"response_length_mean": rising}, cap=1000)) is not None
    assert length_limit(look({"response_length_mean": rising}, planned=350, cap=1000)) is None
    assert length_limit(look({"response_length_mean": rising}, cap=100_000)) is None
    assert length_limit(look({"response_length_mean": rising[::-1].copy()}, cap=1000)) is None
    assert length_limit(look({"response_length_mean": rising})) is None


def test_end_of_run_counts_slow_steps_too() -> None:
    seconds = np.where(np.arange(ROWS) % 10 == 9, 100.0, 10.0)
    one = end_of_run(look({"time_per_step_s": seconds}, planned=ROWS + 100))
    assert one is not None
    assert one.at == pytest.approx(100 * 19.0)
    assert one.low < one.at < (one.high or 0)
    assert one.text.startswith("100 steps left, 32 m ")
    assert end_of_run(look({"time_per_step_s": seconds})) is None
    assert end_of_run(look({"time_per_step_s": seconds}, planned=ROWS)) is None


def test_end_of_run_holds_the_true_time_about_nine_times_in_ten() -> None:
    inside = 0
    for seed in range(100):
        seconds = np.exp(3 + 0.2 * noise(seed, 0.3, ROWS + 200))
        one = end_of_run(look({"time_per_step_s": seconds[:ROWS]}, planned=ROWS + 200))
        assert one is not None
        inside += one.low <= seconds[ROWS:].sum() <= (one.high or 0)
    assert 80 <= inside <= 99


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_too_few_points_foretell_nothing_and_warn_of_nothing(rows: int) -> None:
    at = np.arange(rows, dtype=np.int64)
    assert crossing(Series("memory", at, at.astype(float), at, None), 10.0, None) is None


def test_a_course_that_has_levelled_off_is_not_continued() -> None:
    """A line through all rows would still rise: the newest quarter says that the rise is over."""
    steps, said = np.arange(ROWS) + 1, 0
    for seed in range(20):
        gone = np.clip((steps - 100) / 120, 0, 1)  # over by step 220 of 300
        lengths = 400 + 480 * gone + 4 * noise(seed)
        entropy = (0.7 - 0.5 * gone) * np.exp(0.01 * noise(seed + 50))
        over = look({"response_length_mean": lengths, "entropy": entropy}, cap=1000)
        said += (length_limit(over) is not None) + (entropy_floor(over, 0.05) is not None)
    assert said <= 2
