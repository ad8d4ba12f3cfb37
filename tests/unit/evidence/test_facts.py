"""The fact table: right on series whose truth is known, never a NaN, and the same for the same run in other units."""

from __future__ import annotations

from math import isfinite

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rltui.evidence.blocks import BlockCache
from rltui.evidence.facts import Facts
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.metric import MetricFacts
from rltui.evidence.profile import RunSettings
from rltui.records import as_dict
from rltui.run.table import Floats
from tests.unit.diagnosis.fake_run import FakeRun

SCORE = "score_mean"


def look(columns: dict[str, Floats], **known: object) -> Look:
    run = FakeRun(columns, **known).grow()  # type: ignore[arg-type]
    return Look(LookFeed(run, BlockCache(), RunSettings.of(run)), run.history.table.n, {})


def facts_of(x: Floats, steps: list[int] | None = None, name: str = SCORE) -> MetricFacts:
    found = look({name: x}, steps=steps).facts.metric(name)
    assert found is not None
    return found


def white(seed: int, n: int = 300) -> Floats:
    return np.random.default_rng(seed).normal(size=n)


def numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [one for part in value.values() for one in numbers(part)]
    if isinstance(value, tuple | list):
        return [one for part in value for one in numbers(part)]
    return [float(value)] if isinstance(value, float | int) else []


cells = st.one_of(
    st.floats(-1e3, 1e3),
    st.sampled_from([0.0, 0.0, 0.0, 1.0, 1e-300, -1e-300, 1e300, -1e300, 1.7e308, -1.7e308, np.nan, np.inf, -np.inf]),
)


@pytest.mark.long
@example([1.7e308, -1.7e308], 1)  # their difference overflows
@example([1.7e308, 0, 1.7e308, 0, 1], 1)  # a lone zero between two whose sum overflows
@given(st.lists(cells, min_size=1, max_size=120), st.integers(1, 5))
@settings(max_examples=300, deadline=None)
def test_whatever_is_logged_gives_facts_without_nan(values: list[float], every: int) -> None:
    with np.errstate(all="ignore"):
        seen = look(
            {name: np.array(values) for name in (SCORE, "reward_mean", "val_score", "time_per_step_s", "entropy")},
            steps=[every * i for i in range(len(values))],
            planned=1000,
        )
        told = seen.facts.told
        held = numbers(as_dict(told))
        for name in (SCORE, "entropy", "val_score"):
            one = seen.facts.metric(name)
            if one is not None:
                held += [*numbers([as_dict(s) for s in one.shifts]), one.noise, one.carried]
                held += numbers(as_dict(one.course))
    assert all(map(isfinite, held)), told


def sixteenths(seed: int) -> Floats:
    return np.round(np.clip(0.5 + 0.2 * white(seed, 200), 0, 1) * 16) / 16


def jump(seed: int) -> Floats:
    return np.where(np.arange(90) < 45, 0.2, 0.6) + 0.03 * white(seed, 90)


series = st.integers(0, 10_000).flatmap(
    lambda seed: st.sampled_from(
        [
            white(seed, 120),
            0.3 + 0.01 * np.arange(60) / 60 + 0.01 * white(seed, 60),
            sixteenths(seed),
            jump(seed),
            np.where(white(seed, 150) > 1.2, 1.0, 0.0),
        ]
    )
)


@given(series, st.floats(-100, 100), st.floats(0.01, 100))
@example(sixteenths(3160), 0.0, 28.942679537753126)  # the level after the peak is that of now, but for rounding
@example(jump(248), 25.0, 0.015625)  # far from zero the best is hardly above the second
@settings(max_examples=60, deadline=None)
def test_directions_do_not_depend_on_the_unit_or_on_where_zero_lies(x: Floats, shift: float, scale: float) -> None:
    one, other = facts_of(x), facts_of(shift + scale * x)
    for name in ("since_start", "since_peak", "recent"):
        a, b = getattr(one, name), getattr(other, name)
        assert a is not None
        assert b is not None
        assert a.direction == b.direction, name
        assert b.value == pytest.approx(scale * a.value, abs=1e-6 * max(1.0, scale)), name
        assert b.smallest == pytest.approx(scale * a.smallest, abs=1e-6 * max(1.0, scale)), name
    assert [s.step for s in one.shifts] == [s.step for s in other.shifts]
    assert one.peak is not None
    assert other.peak is not None
    # two steps that are equally high up to rounding: which of them comes first is left to it
    assert other.peak.value == pytest.approx(shift + scale * one.peak.value, rel=1e-12, abs=1e-12)


@given(series)
@settings(max_examples=30, deadline=None)
def test_upside_down_a_rise_is_a_fall(x: Floats) -> None:
    """Not so of a reward: one at its lowest may be a failing grader, one at its highest is none."""
    one, other = facts_of(x, name="entropy"), facts_of(-x, name="entropy")
    for name in ("since_start", "recent"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.direction == -b.direction
        assert a.smallest == pytest.approx(b.smallest)


@pytest.mark.parametrize("height", [0.0, 0.25, 1.0, 1e-12, 1e12])
def test_a_constant_is_level_in_every_sense(height: float) -> None:
    one = facts_of(np.full(100, height))
    assert [getattr(one, n).direction for n in ("since_start", "since_peak", "recent")] == [0, 0, 0]
    assert one.shifts == ()
    assert one.noise == 0.0
    assert one.now.value == height


def test_a_fall_is_no_part_of_the_noise_that_judges_it() -> None:
    calm = 0.6 + 0.02 * white(1, 200)
    fallen = np.where(np.arange(200) < 150, calm, calm - 0.4)
    assert facts_of(fallen).noise == pytest.approx(facts_of(calm).noise, rel=0.1)
    steps_only = np.where(np.arange(200) < 150, 0.6, 0.2)
    assert facts_of(steps_only).noise == 0.0
    assert facts_of(steps_only).since_start.direction == -1  # type: ignore[union-attr]


def test_a_rise_and_a_fall_are_both_seen_each_by_its_own_fact() -> None:
    x = np.concatenate((np.linspace(0.1, 0.8, 150), np.linspace(0.8, 0.5, 100))) + 0.02 * white(3, 250)
    one = facts_of(x)
    assert one.since_start is not None
    assert one.since_peak is not None
    assert one.recent is not None
    assert one.since_start.direction == 1
    assert one.since_peak.direction == -1
    assert one.peak is not None
    assert 130 <= one.peak.step <= 170


def test_a_loss_is_best_at_its_lowest() -> None:
    x = np.concatenate((np.linspace(2.0, 0.5, 100), np.linspace(0.5, 1.5, 100))) + 0.02 * white(4, 200)
    one = facts_of(x, name="response_clip_ratio")
    assert one.better == -1
    assert one.peak is not None
    assert 90 <= one.peak.step <= 110
    assert one.since_peak is not None
    assert one.since_peak.direction == 1


def test_noise_alone_rarely_has_a_direction() -> None:
    told = {"since_start": 0, "since_peak": 0, "recent": 0, "shifts": 0}
    for seed in range(200):
        one = facts_of(white(seed))
        for name in ("since_start", "since_peak", "recent"):
            told[name] += getattr(one, name).direction != 0
        told["shifts"] += bool(one.shifts)
    assert told["since_start"] <= 24  # 5 % asked, at 2 standard errors of 30 points
    assert told["since_peak"] <= 10
    assert told["recent"] <= 6
    assert told["shifts"] <= 2


@pytest.mark.parametrize("at", [20, 77, 130])
@pytest.mark.parametrize("factor", [2.0, 1 / 24, 10.0])
def test_a_level_shift_is_found_at_its_step(at: int, factor: float) -> None:
    level = np.where(np.arange(150) < at, 300.0, 300.0 * factor)
    found = facts_of(level * (1 + 0.05 * white(9, 150)), name="response_length_mean").shifts
    assert [abs(s.step - 1 - at) <= 1 for s in found] == [True]
    assert found[0].before == pytest.approx(300, rel=0.05)
    assert found[0].after == pytest.approx(300 * factor, rel=0.05)


def test_a_steady_rise_is_no_level_shift() -> None:
    assert facts_of(np.linspace(0.1, 0.9, 300) + 0.01 * white(2)).shifts == ()


def test_what_could_not_be_seen_shrinks_with_more_points() -> None:
    small, large = facts_of(white(5, 60)).since_start, facts_of(white(5, 600)).since_start
    assert small is not None
    assert large is not None
    assert large.smallest < small.smallest


@pytest.mark.parametrize("every", [1, 2, 5])
def test_the_clock_counts_steps_and_samples_of_a_thinned_run(every: int) -> None:
    steps = list(range(0, 401, every))
    config = {"train_batch_prompts": 8, "group_size": 4}
    clock = look({SCORE: np.zeros(len(steps))}, steps=steps, config=config).facts.clock
    assert (clock.samples, clock.stride, clock.rows) == (400 * 32, every, len(steps))


def test_dead_groups_of_batches_with_one_group_are_a_share() -> None:
    dead = np.array([0.0, 1.0, 1.0] * 20)
    share = look({"frac_reward_zero_std": dead}).facts.dead_groups
    assert share is not None
    assert share.value == pytest.approx(dead[-6:].mean())
    assert (share.rows, share.first_step) == (6, 55)  # a tenth of the run


def test_reward_is_told_apart_from_score_only_if_it_is_another_number() -> None:
    score = 0.3 + 0.1 * white(1, 60)
    plain: Facts = look({"score_mean": score, "reward_mean": score}).facts
    shaped = look({"score_mean": score, "reward_mean": score - 0.2}).facts
    alone = look({"reward_mean": score}).facts
    assert (plain.score, plain.optimised) == ("score_mean", None)
    assert (shaped.score, shaped.optimised) == ("score_mean", "reward_mean")
    assert (alone.score, alone.optimised) == ("reward_mean", None)
