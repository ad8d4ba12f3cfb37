"""Expected gain against cost: what is left to win, less the risk that is open, and the hours it takes."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.diagnosis.worth import Worth, worth
from rltui.evidence.above_start import _steadily
from rltui.evidence.model import Diagnosis
from rltui.rules.catalogue import rules
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.looks import look_at
from tests.unit.diagnosis.series import noise

N = 300


def rising(slope: float) -> dict[str, object]:
    rng = np.random.default_rng(0)
    values = 0.4 + slope * np.arange(N)
    return {
        "score_mean": values + 0.01 * noise(rng, N),
        "val_score": [v if i % 10 == 0 else None for i, v in enumerate(values)],
        "time_per_step_s": np.full(N, 36.0),
    }


def weigh(columns: dict[str, object], diagnosis: Diagnosis | None = None, gpus: int | None = None) -> Worth:
    found = worth(look_at(columns, planned=N + 100), diagnosis.findings if diagnosis else (), rules(), gpus)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_rising_validation_is_continued_and_discounted() -> None:
    w = weigh(rising(0.001), gpus=8)
    assert w.gain == pytest.approx(w.ahead * 0.001 * 0.95, rel=0.01)
    assert 80 <= w.ahead <= 100
    assert w.low <= w.gain <= w.high
    assert w.hours == pytest.approx(1.0)
    assert w.gpu_hours == pytest.approx(8.0)
    assert "All 100 cost 8 GPU hours" in w.text
    assert "5.0 % taken off for the risk" in w.text


def test_nothing_is_left_to_win_where_validation_stands_or_falls() -> None:
    for slope, told in ((0.0, "brings val_score nothing"), (-0.001, "brings nothing, as val_score falls")):
        w = weigh(rising(slope))
        assert w.gain == 0
        assert told in w.text
        assert "All 100 cost 1 h" in w.text


def test_an_open_root_takes_its_share_of_the_gain() -> None:
    columns = rising(0.001)
    columns["response_clip_ratio"] = np.full(N, 0.8)
    d = Engine().advance(FakeRun(columns, planned=N + 100).grow())  # type: ignore[arg-type]
    assert any(f.severity == "critical" and f.root is None for f in d.findings)
    assert weigh(columns, d).risk == 0.8
    assert weigh(columns, d).gain < 0.3 * weigh(columns).gain


def test_without_validation_it_says_that_it_rests_on_the_train_reward() -> None:
    columns = {k: v for k, v in rising(0.001).items() if k != "val_score"}
    assert "train reward only" in weigh(columns).text


def test_a_slope_is_not_continued_further_than_it_was_seen_nor_beyond_the_ceiling() -> None:
    columns = {**rising(0.001), "score_max": np.ones(N), "score_min": np.zeros(N)}
    far = worth(look_at(columns, planned=100_000), (), rules())  # type: ignore[arg-type]
    assert far is not None
    assert far.ahead < N
    assert f"the next {far.ahead} of 99700 steps" in far.text
    del columns["val_score"]
    columns["score_mean"] = np.minimum(0.99, 0.2 + 0.004 * np.arange(N))
    near = worth(look_at(columns, planned=100_000), (), rules())  # type: ignore[arg-type]
    assert near is not None
    assert near.gain <= 0.2


def test_without_a_plan_nothing_is_said() -> None:
    assert worth(look_at(rising(0.001)), (), rules()) is None  # type: ignore[arg-type]
    assert worth(look_at(rising(0.001), planned=N), (), rules()) is None  # type: ignore[arg-type]


def test_a_steady_way_up_to_the_best_is_a_gain() -> None:
    """Whatever came after; of evaluations of noise hardly any have one up to their best."""
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(1000):
        x = rng.standard_normal(int(rng.integers(5, 30)))
        found += _steadily(x[: int(x.argmax()) + 1])
    assert found <= 40
    assert _steadily(np.array([0.407, 0.443, 0.49, 0.502, 0.595]))
    assert not _steadily(np.array([0.41, 0.39, 0.5, 0.44, 0.51]))
    assert not _steadily(np.array([0.41, 0.5, 0.6])), "three tell no noise"
