"""What moved first: the planted order comes out, noise does not."""

from __future__ import annotations

import numpy as np

from rltui.diagnosis.insight import WATCHED, first_moves
from tests.unit.diagnosis.looks import look_at
from tests.unit.diagnosis.series import noise, still_run

N = 300


def step_at(row: int, before: float, after: float, seed: int) -> np.ndarray:
    level = np.where(np.arange(N) >= row, after, before)
    return level * (1 + 0.03 * noise(np.random.default_rng(seed), N))


def test_the_order_is_that_of_the_onsets() -> None:
    columns = {
        "score_mean": step_at(240, 0.6, 0.1, 1),
        "kl_ref": step_at(215, 0.05, 0.9, 2),
        "entropy": step_at(200, 0.4, 1.5, 3),
        "grad_norm": step_at(0, 0.5, 0.5, 4),
        "response_length_mean": step_at(250, 300, 900, 5),
    }
    moves = first_moves(look_at(columns), 245)  # type: ignore[arg-type]
    assert [m.metric for m in moves] == ["entropy", "kl_ref", "score_mean", "response_length_mean"]
    for move, row in zip(moves, (200, 215, 240, 250), strict=True):
        assert abs(move.step - (row + 1)) <= 2
    assert moves[0].text.startswith("entropy 0.4")


def test_of_metrics_that_do_not_move_hardly_any_is_named() -> None:
    named = [len(first_moves(look_at(still_run(seed, 400, 0.3)), 200)) for seed in range(30)]  # type: ignore[arg-type]
    assert sum(named) <= 10


def test_a_schedule_and_a_steady_drift_are_no_moves() -> None:
    rows = np.arange(N)
    columns = {
        "lr": 1e-6 * (1 - rows / N),
        "entropy": 0.9 - 0.002 * rows + 0.005 * noise(np.random.default_rng(1), N),
        "kl_ref": step_at(200, 0.05, 0.9, 2),
    }
    assert [m.metric for m in first_moves(look_at(columns), 210)] == ["kl_ref"]  # type: ignore[arg-type]


def test_rows_far_from_the_step_do_not_count() -> None:
    columns = {"entropy": step_at(30, 0.4, 1.5, 1), "kl_ref": step_at(280, 0.05, 0.9, 2)}
    assert first_moves(look_at(columns), 200) == ()  # type: ignore[arg-type]


def test_too_little_is_no_answer() -> None:
    assert first_moves(look_at({"entropy": [0.1, 0.2, 5.0]}), 2) == ()
    assert first_moves(look_at({}), 2) == ()


def test_the_watched_metrics_are_known() -> None:
    from rltui.frameworks.load import metrics

    assert set(WATCHED) <= set(metrics())
    assert len(set(WATCHED)) == len(WATCHED)
