"""The course of a metric in words: right on clear courses, quiet on noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.evidence.shapes import course
from rltui.run.table import Floats

N = 300
T = np.arange(N)


def say(values: Floats) -> str:
    return course(np.arange(len(values), dtype=np.int64) + 1, values)


def noise(seed: int, rho: float = 0.0, n: int = N) -> Floats:
    rng = np.random.default_rng(seed)
    out = rng.normal(size=n)
    for i in range(1, n):
        out[i] += rho * out[i - 1]
    return out


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (0.01 * T, "rises"),
        (-0.01 * T, "falls"),
        (1 - np.exp(-T / 20), "rises early, then level"),
        (np.exp(-T / 15), "falls early, then level"),
        (np.where(T > 200, 1.0, 0.0), "level, then rises"),
        (np.where(T > 200, -1.0, 0.0), "level, then falls"),
        (3 * (T / N) ** 2, "rises, accelerating"),
        (-3 * (T / N) ** 2, "falls, accelerating"),
        (3 * np.exp(-T / 120), "falls, decelerating"),
        (1 - 3 * np.exp(-T / 120), "rises, decelerating"),
        (np.exp(T / 25 - 12), "diverges upwards"),
        (-np.exp(T / 25 - 12), "diverges downwards"),
        (np.sin(T / 15), "oscillates"),
    ],
)
def test_clear_courses_under_noise(values: Floats, words: str) -> None:
    assert say(values + 0.05 * noise(1)) == words


@pytest.mark.parametrize("sign", [1, -1])
def test_a_turn_names_its_step(sign: int) -> None:
    peak = np.minimum(T, 360 - T) / 180
    text = say(sign * peak + 0.05 * noise(2))
    before, after = ("rises", "falls") if sign > 0 else ("falls", "rises")
    assert text.startswith(f"{before} to about step ")
    assert text.endswith(f", then {after}")
    assert abs(int(text.split("step ")[1].split(",")[0]) - 180) < 30


def test_noise_has_no_trend_and_one_spike_makes_none() -> None:
    words = [say(noise(seed, 0.5)) for seed in range(100)]
    assert words.count("no trend") >= 98
    assert say(np.where(T == 150, 100.0, 1 + 0.1 * noise(3))) == "no trend"


def test_the_words_for_pace_and_swings_are_not_said_of_noise() -> None:
    words = [say(noise(seed, rho)) for seed in range(60) for rho in (0.0, 0.5)]
    assert not [w for w in words if "celerating" in w or "diverges" in w or "oscillates" in w]
    straight = [say(0.01 * T + 0.3 * noise(seed, 0.3)) for seed in range(60)]
    assert straight.count("rises") >= 57


def test_too_little_to_say() -> None:
    assert say(np.array([])) == "nothing finite"
    assert say(np.array([1.0, 2.0])) == "too few points"
    assert say(np.array([0.5] * 4)) == "constant"


@given(st.lists(st.floats(-1e6, 1e6), min_size=0, max_size=400))
def test_any_finite_values_get_words(values: list[float]) -> None:
    assert say(np.array(values)) != ""
