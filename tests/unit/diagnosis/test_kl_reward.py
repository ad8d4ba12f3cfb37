"""The table of KL, reward and validation: each case by its courses, and what lies outside it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rltui.diagnosis.kl_reward import case, table
from tests.unit.diagnosis.looks import look_at
from tests.unit.diagnosis.series import noise

N = 300
MOVES = {"up": 1.0, "flat": 0.0, "down": -1.0}


def columns(kl: str, reward: str, held_out: str | None, level: float = 0.06) -> dict[str, object]:
    rng = np.random.default_rng(3)
    t = np.arange(N) / N
    out: dict[str, object] = {
        "kl_ref": level + MOVES[kl] * 0.05 * t + 0.004 * noise(rng, N),
        "score_mean": 0.5 + MOVES[reward] * 0.3 * t + 0.03 * noise(rng, N),
    }
    if held_out is not None:
        values = 0.4 + MOVES[held_out] * 0.3 * t
        out["val_score"] = [
            v + 0.01 * e if i % 20 == 0 else None for i, (v, e) in enumerate(zip(values, noise(rng, N), strict=True))
        ]
    return out


@pytest.mark.parametrize(
    ("kl", "reward", "held_out", "expected"),
    [
        ("up", "up", "up", "learning"),
        ("up", "up", "flat", "not-transferring"),
        ("up", "up", "down", "over-optimised"),
        ("up", "up", None, "unverified"),
        ("up", "flat", None, "drift"),
        ("up", "flat", "up", "late-gain"),
        ("flat", "flat", "up", "late-gain"),
        ("up", "down", None, "divergence"),
        ("flat", "up", None, "efficient"),
        ("flat", "up", "down", "format-gain"),
        ("flat", "flat", None, "converged"),
        ("flat", "down", "down", "forgetting"),
        ("down", "up", None, "back-to-reference"),
        ("down", "down", None, "penalty-wins"),
    ],
)
def test_cases(kl: str, reward: str, held_out: str | None, expected: str) -> None:
    found = case(look_at(columns(kl, reward, held_out)))  # type: ignore[arg-type]
    assert found.id == expected, found
    assert found.text.startswith(f"KL {kl}, reward {reward}, validation {held_out or 'not known'}: ")


def test_a_level_kl_far_from_the_reference_is_another_case() -> None:
    assert case(look_at(columns("flat", "flat", None, level=0.6))).id == "balance"  # type: ignore[arg-type]


def test_a_combination_without_a_row_is_told_as_it_is() -> None:
    found = case(look_at(columns("down", "flat", None)))  # type: ignore[arg-type]
    assert found.id is None
    assert "no known pattern" in found.text


@pytest.mark.parametrize("kl", [np.zeros(N), None, np.full(10, 0.1)])
def test_kl_that_is_off_or_unknown_is_no_course(kl: np.ndarray | None) -> None:
    given = {"score_mean": columns("flat", "up", None)["score_mean"]}
    if kl is not None:
        given["kl_ref"] = [*kl, *[None] * (N - len(kl))]
    found = case(look_at(given))  # type: ignore[arg-type]
    assert (found.kl, found.id) == ("none", None)
    young = kl is not None and len(kl) < N  # it is logged, and too few rows hold it
    assert ("too few rows" if young else "off or not known") in found.text
    assert ("KL not known yet" in found.text) == young


def test_no_combination_has_two_rows() -> None:
    for kl, reward, held_out, farmed in product(
        ("up", "flat", "high", "down"), ("up", "flat", "down"), ("up", "flat", "down", "none"), (False, True)
    ):
        fits = [r for r in table() if kl in r.kl and reward in r.reward and held_out in r.validation]
        rows = [r.id for r in fits if farmed in r.farmed]
        assert len(rows) <= 1, (kl, reward, held_out, farmed, rows)


def test_a_kl_that_breaks_away_at_the_end_does_not_stand_still() -> None:
    given = columns("flat", "down", "down")
    given["kl_ref"] = np.asarray(given["kl_ref"]) * np.where(np.arange(N) < N - 12, 1.0, 3.0)
    assert case(look_at(given)).kl == "up"  # type: ignore[arg-type]


def test_what_rose_early_and_then_stands_still_rose() -> None:
    """As all other sentences have it, which tell a course since the start."""
    early = np.minimum(1.0, np.arange(N) / 70)
    given = columns("up", "flat", "flat")
    given["score_mean"] = np.asarray(given["score_mean"]) + 0.3 * early
    given["val_score"] = [None if v is None else v + 0.2 * early[i] for i, v in enumerate(given["val_score"])]  # type: ignore[arg-type]
    found = case(look_at(given))  # type: ignore[arg-type]
    assert (found.reward, found.validation, found.id, found.lately) == ("up", "up", "learning", ())


def test_what_is_being_lost_now_falls_whatever_was_gained_before() -> None:
    t = np.arange(N)
    given = columns("up", "flat", None)
    given["score_mean"] = np.asarray(given["score_mean"]) + np.where(
        t < 150, 0.4 * t / 150, 0.4 - 0.2 * (t - 150) / 150
    )
    found = case(look_at(given))  # type: ignore[arg-type]
    assert (found.reward, found.id, found.lately) == ("down", "divergence", ("reward",))
    assert "reward down lately" in found.text


def test_a_farmed_reward_that_rises_is_not_told_to_fall() -> None:
    """What is wrong with it is that it stands for the task no longer; its course is up."""
    farming = {"reward-component-decoupling": 2}
    found = case(look_at(columns("up", "up", None), open_levels=farming))  # type: ignore[arg-type]
    assert (found.reward, found.id) == ("up", "farmed")
    assert case(look_at(columns("flat", "up", "up"), open_levels=farming)).id == "farmed"  # type: ignore[arg-type]
    assert case(look_at(columns("up", "up", "down"), open_levels=farming)).id == "over-optimised"  # type: ignore[arg-type]
    assert case(look_at(columns("up", "down", None), open_levels=farming)).id == "divergence"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "expected"), [("kl-up-reward-flat", ("up", "flat", "up")), ("reward-collapse", ("up", "down", "up"))]
)
def test_a_warning_about_a_course_and_the_table_say_the_same(rule: str, expected: tuple[str, str, str]) -> None:
    said = case(look_at(columns("up", "up", "up"), open_levels={rule: 2}))  # type: ignore[arg-type]
    assert (said.kl, said.reward, said.validation) == expected


@pytest.mark.parametrize(
    ("evaluations", "way"),
    [
        ([0.24, 0.29, 0.33, 0.38, 0.41, 0.46, 0.49, 0.53], "up"),
        ([0.53, 0.49, 0.46, 0.44, 0.38, 0.33], "down"),
        ([0.42, 0.44, 0.45, 0.46, 0.45, 0.0], "down"),
        ([0.42, 0.44, 0.41, 0.43, 0.42, 0.44], "flat"),
        ([0.42, 0.44, 0.45], "none"),
    ],
)
def test_few_evaluations_go_by_their_order(evaluations: list[float], way: str) -> None:
    """Two windows of five points of eight hold the same ones: a gain of half was called flat."""
    columns_ = columns("up", "up", None)
    every = N // len(evaluations)
    columns_["val_score"] = [
        evaluations[i // every] if i % every == every - 1 and i // every < len(evaluations) else None for i in range(N)
    ]
    assert case(look_at(columns_)).validation == way  # type: ignore[arg-type]
