"""What shows in a few rows is told after a few rows, however long the run: a window that averages noise out must not
wait until half of it is over. Rows that may be chance are none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rltui.evidence.clock import enough
from rltui.evidence.present import present
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise
from tests.unit.rules.asked import near

ROWS, AT = 600, 400
Columns = dict[str, np.ndarray]


def healthy(seed: int) -> Columns:
    rng = np.random.default_rng(seed)
    return {name: np.array(x, float) for name, x in learning_run(seed, ROWS).items()} | {
        "grad_norm": 0.5 * np.exp(0.1 * noise(rng, ROWS)),
        "response_clip_ratio": np.clip(0.01 + 0.005 * noise(rng, ROWS), 0, 1),
        "entropy": 0.6 * np.exp(0.04 * noise(rng, ROWS)),
    }


def loud_after(columns: Columns, rule: str, least: int = 1) -> int | None:
    """Rows of the fault after which the rule is loud, by looks that come at each row from `least` on; None if it is not
    within 40."""
    engine, run = near(rule), FakeRun(columns)
    for n in [*range(50, AT, 50), *range(AT + least, AT + 40)]:
        found = engine.advance(run.grow(n)).findings
        if any(f.id == rule and f.status == "active" and f.severity != "info" for f in found):
            return n - AT
    return None


def dies(columns: Columns) -> None:
    columns["grad_norm"][AT:] = 0.0


def cut(columns: Columns) -> None:
    columns["response_clip_ratio"][AT:] += 0.4


def explodes(columns: Columns) -> None:
    columns["entropy"][AT:] *= 6.0


@pytest.mark.parametrize(
    ("fault", "rule"), [(dies, "no-learning-signal"), (cut, "truncation-high"), (explodes, "entropy-explosion")]
)
def test_a_fault_that_shows_at_once_is_told_soon(fault: Callable[[Columns], None], rule: str) -> None:
    columns = healthy(3)
    fault(columns)
    rows = loud_after(columns, rule)
    assert rows is not None
    assert 5 <= rows <= 9


def test_three_rows_are_no_fault() -> None:
    columns = healthy(4)
    columns["grad_norm"][AT : AT + 3] = 0.0
    columns["response_clip_ratio"][AT : AT + 3] += 0.4
    columns["entropy"][AT : AT + 3] *= 6.0
    for rule in ("no-learning-signal", "truncation-high", "entropy-explosion"):
        assert loud_after(columns, rule) is None


def test_zero_gradients_in_a_row_are_chance_where_they_are_usual() -> None:
    columns = healthy(5)
    columns["grad_norm"][np.random.default_rng(5).random(ROWS) < 0.3] = 0.0
    columns["grad_norm"][AT : AT + 5] = 0.0
    columns["grad_norm"][AT + 5 : AT + 40 : 2] = 0.5
    assert loud_after(columns, "no-learning-signal") is None


@pytest.mark.parametrize("seed", range(20))
def test_a_window_of_noise_is_one_level(seed: int) -> None:
    rng = np.random.default_rng(seed)
    white = noise(rng, ROWS)
    steady = np.cumsum(white) * 0.05 + white
    for x in (white, steady):
        assert [n for n in range(100, ROWS) if present(x[:n], 20) < min(50, n // 10)] == []


def test_a_jump_leaves_the_rows_after_it() -> None:
    rng = np.random.default_rng(1)
    x = np.where(np.arange(300) < 250, 1.0, 3.0) + 0.1 * noise(rng, 300)
    assert [present(x[:n], 20) for n in (250, 254)] == [25, 25]
    assert [present(x[:n], 20) for n in (255, 260, 268)] == [5, 10, 18]
    assert present(x, 20) == 30


def test_a_row_stands_for_the_steps_since_the_one_before() -> None:
    assert enough(200, np.arange(2, 201, 2))
    assert enough(200, np.arange(1, 201))
    assert not enough(200, np.arange(2, 199, 2))


def test_zero_kl_is_dated_where_it_began() -> None:
    rng = np.random.default_rng(2)
    columns = {
        "score_mean": 0.4 + 0.02 * noise(rng, 40),
        "grad_norm": 0.5 + 0.01 * noise(rng, 40),
        "kl_ref": np.zeros(40),
    }
    run = FakeRun(columns, steps=range(4, 161, 4), config={"kl_coef_loss": 0.01})
    found = {f.id: f for f in near("kl-zero-unexpected").advance(run.grow()).findings}
    assert found["kl-zero-unexpected"].onset_step == 4
