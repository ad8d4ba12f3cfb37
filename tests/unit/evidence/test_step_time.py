"""Why a step was slow, who waits for whom, which phase takes another share than it used to."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.evidence.step_time import own_shares, slow_step, waits
from tests.unit.diagnosis.looks import look_at
from tests.unit.diagnosis.series import noise

N = 120
SLOW = 100  # row of the slow step


def timed(longer: float, slower: float) -> dict[str, np.ndarray]:
    """Steps of 40 s generation and 20 s update for 500 tokens; one step with so much longer and slower responses."""
    length = 500 * (1 + 0.02 * noise(np.random.default_rng(0), N))
    pace = np.full(N, 500 / 40.0)
    length[SLOW] *= longer
    pace[SLOW] /= slower
    rollout = length / pace
    return {
        "response_length_mean": length,
        "phase:rollout": rollout,
        "phase:update_actor": np.full(N, 20.0),
        "time_per_step_s": rollout + 20.0,
    }


@pytest.mark.parametrize(
    ("longer", "slower", "words"),
    [(4.0, 1.0, "longer responses ("), (1.0, 4.0, "fewer tokens/s ("), (2.0, 2.5, "longer responses (2")],
)
def test_longer_responses_or_fewer_tokens_a_second(longer: float, slower: float, words: str) -> None:
    found = slow_step(look_at(timed(longer, slower)), SLOW + 1)
    assert found is not None
    assert words in found.text
    assert (" at " in found.text) == (longer > 1 and slower > 1)
    assert found.phase == "rollout"
    assert found.phase_share == pytest.approx(1.0, abs=0.05)
    assert found.ratio == pytest.approx((40 * longer * slower + 20) / 60, rel=0.05)


def test_a_step_of_usual_time_and_one_without_history_are_not_explained() -> None:
    look = look_at(timed(4.0, 1.0))
    assert slow_step(look, SLOW) is None
    assert slow_step(look, 3) is None
    assert slow_step(look, 10_000) is None


def test_without_lengths_nobody_can_tell() -> None:
    columns = timed(4.0, 1.0)
    del columns["response_length_mean"]
    found = slow_step(look_at(columns), SLOW + 1)
    assert found is not None
    assert "nobody can tell" in found.text
    assert found.tokens is None


def test_a_phase_that_most_steps_do_not_run() -> None:
    columns = {**timed(1.0, 1.0), "phase:save_checkpoint": np.zeros(N)}
    columns["phase:save_checkpoint"][SLOW] = 90.0
    columns["time_per_step_s"][SLOW] += 90.0
    found = slow_step(look_at(columns), SLOW + 1)
    assert found is not None
    assert found.phase == "save_checkpoint"


@pytest.mark.parametrize(
    ("columns", "bottleneck"),
    [
        ({"time/wait_for_batch": np.full(N, 40.0), "time/wait_for_policy": np.full(N, 1.0)}, "generation is"),
        ({"time/wait_for_batch": np.full(N, 1.0), "time/wait_for_policy": np.full(N, 40.0)}, "training is"),
        ({"trainer_idle_ratio": np.full(N, 0.02)}, "neither"),
    ],
)
def test_who_waits_for_whom(columns: dict[str, np.ndarray], bottleneck: str) -> None:
    found = waits(look_at({**columns, "time_per_step_s": np.full(N, 60.0)}, framework="prime_rl"))
    assert found is not None
    assert bottleneck in found.text
    assert waits(look_at(timed(1.0, 1.0))) is None


def test_a_share_is_judged_by_the_runs_own_history() -> None:
    columns = timed(1.0, 1.0)
    assert {s.phase: s.status for s in own_shares(look_at(columns))} == {"rollout": "usual", "update_actor": "usual"}
    columns["phase:update_actor"] = np.where(np.arange(N) < 98, 20.0, 60.0)
    columns["time_per_step_s"] = columns["phase:rollout"] + columns["phase:update_actor"]
    shares = {s.phase: s for s in own_shares(look_at(columns))}
    assert (shares["update_actor"].status, shares["rollout"].status) == ("high", "low")
    assert shares["update_actor"].high < 0.4 < shares["update_actor"].share
    assert own_shares(look_at({k: v[:30] for k, v in columns.items()})) == ()
