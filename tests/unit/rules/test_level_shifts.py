"""A level that changes at once is no trend: rules see it, and an old gain does not pay for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import noise

AT = 200


def learnt(rows: int = 400) -> dict[str, np.ndarray]:
    """Learns quickly, then stands."""
    rng, t = np.random.default_rng(5), np.arange(rows)
    return {
        "score_mean": 0.2 + 0.4 * (1 - np.exp(-t / 25)) + 0.03 * noise(rng, rows),
        "kl_ref": 0.03 * (t / rows) * np.exp(0.08 * noise(rng, rows)),
        "entropy": 0.8 * np.exp(0.03 * noise(rng, rows)),
        "response_length_mean": 400 * np.exp(0.04 * noise(rng, rows)),
        "time_per_step_s": 20 * np.exp(0.05 * noise(rng, rows)),
    }


def levels(x: dict[str, np.ndarray], rule: str) -> Iterator[str]:
    """Severity of a rule's open finding at each of twenty looks, `-` if there is none."""
    run, engine = FakeRun(x), Engine()
    for rows in range(20, len(x["score_mean"]) + 1, 20):
        found = [f for f in engine.advance(run.grow(rows)).findings if f.id == rule and f.status == "active"]
        yield found[0].severity if found else "-"


@pytest.mark.parametrize(("times", "rule"), [(3.0, "length-explosion"), (1 / 24, "length-collapse")])
def test_a_length_that_jumps_without_gain_is_a_warning(times: float, rule: str) -> None:
    x = learnt()
    x["response_length_mean"][AT:] *= times
    told = list(levels(x, rule))
    assert set(told[: AT // 20]) == {"-"}
    assert told[-1] != "-"
    assert "warning" in told


def test_a_length_that_jumps_with_a_gain_is_no_warning() -> None:
    x = learnt()
    x["response_length_mean"][AT:] *= 3.0
    x["score_mean"][AT:] += 0.2
    assert set(levels(x, "length-explosion")) <= {"-", "info", "warning"}
    assert list(levels(x, "length-explosion"))[-1] == "info"


def test_small_kl_on_a_plateau_is_no_drift() -> None:
    assert set(levels(learnt(), "kl-up-reward-flat")) == {"-"}
    far = learnt()
    far["kl_ref"] *= 20
    assert "warning" in set(levels(far, "kl-up-reward-flat"))


def test_steps_as_slow_as_at_the_start_are_no_warning() -> None:
    x = learnt()
    x["time_per_step_s"][100:160] *= 0.5
    assert "warning" not in set(levels(x, "step-time-regression"))
    x["time_per_step_s"][250:] *= 2.0
    assert list(levels(x, "step-time-regression"))[-1] == "critical"
