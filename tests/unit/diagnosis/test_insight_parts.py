"""What an insight holds beyond findings: the kind of reward, and the constants between reward and loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rltui.diagnosis.constants import constants, reward_values
from rltui.diagnosis.engine import Engine
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.looks import look_at
from tests.unit.diagnosis.series import learning_run

N = 60
BATCH = 256


def batches(kind: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    low, high = (-1.0, 1.0) if kind == "signed" else (0.0, 1.0)
    answers = [
        rng.uniform(0, 1, BATCH) if kind == "graded" else np.where(rng.uniform(0, 1, BATCH) < 0.3, high, low)
        for _ in range(N)
    ]
    return {
        "score_mean": np.array([a.mean() for a in answers]),
        "score_min": np.array([a.min() for a in answers]),
        "score_max": np.array([a.max() for a in answers]),
        "reward_std": np.array([a.std(ddof=1) for a in answers]),
    }


@pytest.mark.parametrize(("kind", "binary"), [("plain", True), ("signed", True), ("graded", False)])
def test_binary_or_graded_and_the_share_of_the_better_value(kind: str, binary: bool) -> None:
    found = reward_values(look_at(batches(kind)))
    assert found.binary is binary
    if binary:
        assert found.positive == pytest.approx(0.3, abs=0.05)
        assert "30 %" in found.text or "29 %" in found.text or "31 %" in found.text
    else:
        assert found.positive is None


def test_without_spread_or_extremes_nobody_can_tell() -> None:
    columns = batches("plain")
    assert reward_values(look_at({"score_mean": columns["score_mean"]})).binary is None
    same = {**columns, "score_mean": np.ones(N), "score_min": np.zeros(N), "reward_std": np.zeros(N)}
    assert reward_values(look_at(same)).binary is None
    assert reward_values(look_at({})).text == "no reward is logged"


def test_constants_with_size_format_and_what_maths_needs() -> None:
    config = {"temperature": 1.0, "clip_low": 0.2, "clip_high": 0.28, "kl_coef_loss": 0.001}
    listed = constants(look_at(batches("plain"), config=config))
    assert [(c.value, c.format, c.status) for c in listed] == [
        (1.0, None, "pass"),
        (1e-4, "float32", "pass"),
        (0.2, None, "pass"),
        (0.28, None, "pass"),
        (0.001, None, "pass"),
    ]
    assert all(c.needs and c.where for c in listed)


def test_a_constant_out_of_range_is_told() -> None:
    columns = {**batches("plain"), "reward_std": np.full(N, 0.002)}
    told = {c.name: c.status for c in constants(look_at(columns, config={"clip_low": 3e-4}))}
    assert told == {"added to the spread in the advantage's denominator": "warn", "clip range, lower": "warn"}
    whole = constants(look_at(columns, config={"clip_low": 3e-4, "importance_sampling_level": "sequence"}))
    assert whole[-1].status == "pass"


def test_an_insight_holds_them() -> None:
    columns: Any = learning_run(0)
    run, engine = FakeRun(columns).grow(), Engine()
    engine.advance(run)
    seen = engine.insight(run, 400, 400, (), "continue")
    assert seen.rewards is not None
    assert [c.name for c in seen.constants] == ["added to the spread in the advantage's denominator"]
    assert seen.slow is None
    assert seen.waits is None
