"""The reward's scale: its ends are those of the rewards, not of a stray one."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.evidence.blocks import BlockCache
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.profile import Profile, RunSettings
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run

N = 220


def scale(**columns: np.ndarray) -> tuple[float | None, float | None]:
    run = FakeRun(columns).grow()
    profile = Profile.of(Look(LookFeed(run, BlockCache(), RunSettings.of(run)), run.history.table.n, {}))
    return profile.floor, profile.ceiling


def with_strays(x: np.ndarray, rows: tuple[int, ...], value: float) -> np.ndarray:
    x = x.copy()
    x[list(rows)] = value
    return x


LEARNS = np.linspace(0.2, 0.9, N)


@pytest.mark.parametrize("rows", [(131,), (3, 200)])
@pytest.mark.parametrize("value", [156.0, -500.0])
def test_a_stray_reward_does_not_stretch_the_scale(rows: tuple[int, ...], value: float) -> None:
    assert scale(score_mean=with_strays(LEARNS, rows, value)) == scale(score_mean=LEARNS) == (0.0, 1.0)


def test_rare_successes_are_no_strays() -> None:
    zeros = np.zeros(N)
    best = with_strays(zeros, (77,), 1.0)
    assert scale(score_mean=best / 32, score_max=best, score_min=zeros) == (0.0, 1.0)
    formatted = with_strays(np.where(np.arange(N) % 9, 0.1, 0.0), (77, 150), 1.1)
    assert scale(score_mean=formatted / 32, score_max=formatted, score_min=zeros) == (0.0, 1.1)


def test_rewards_that_stay_large_are_the_scale() -> None:
    grown = np.where(np.arange(N) < 200, 0.5, 100.0) * (1 + 0.01 * np.sin(np.arange(N)))
    _, ceiling = scale(score_mean=grown, score_max=grown, score_min=np.zeros(N))
    assert ceiling == pytest.approx(101, abs=0.1)


def test_after_a_stray_reward_nothing_stands_at_the_floor() -> None:
    columns = learning_run(1, N)
    columns["score_mean"] = with_strays(np.asarray(columns["score_mean"]), (131,), 156.0)
    findings = Engine().advance(FakeRun(columns).grow()).findings  # type: ignore[arg-type]
    assert "reward-floor" not in {f.id for f in findings}


@pytest.mark.parametrize(
    ("lowest", "highest", "floor"), [(5.0, 40.0, 0.0), (0.2, 0.9, 0.0), (-3.0, 40.0, None), (5.0, 5.0, None)]
)
def test_rewards_that_are_never_0_nor_less_have_their_floor_there(
    lowest: float, highest: float, floor: float | None
) -> None:
    """Unless they never vary: then nothing tells their scale."""
    assert scale(score_mean=np.linspace(lowest, highest, N))[0] == floor
