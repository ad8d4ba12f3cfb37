"""A metric of a run beside that of the others: equal axes, the band, since when it is left."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.compare.fair import beside_many, beside_one, line
from rltui.compare.read import ComparedRun, RunCurve, thinned
from tests.unit.compare.made import made

STEPS = np.arange(1, 301)


def run(name: str, values: np.ndarray, **more: RunCurve) -> ComparedRun:
    from msgspec.structs import replace

    return replace(made(name), traces={"kl_ref": RunCurve(STEPS, values.astype(np.float64))}, **more)


def others() -> list[ComparedRun]:
    return [run(f"r{i}", 1.0 + 0.1 * i + 0.001 * STEPS) for i in range(6)]


def test_behind_since_the_step_at_which_the_band_was_left_for_good() -> None:
    own = np.where(STEPS < 140, 1.2 + 0.001 * STEPS, 0.2)
    own[50] = 0.1  # one bad step is no falling behind
    found = beside_many(others(), "kl_ref", "step", STEPS.astype(float), own, "up", "step")
    assert found is not None
    assert found.label == "10–90 % of 6 others"
    word, _, at = found.words.rpartition(" ")
    assert word == "behind since step"
    assert abs(int(at) - 140) <= 6
    (x, low), (_, high) = found.lines
    inside = np.interp(100, x, low), np.interp(100, x, high)
    assert inside == (pytest.approx(1.15, abs=0.02), pytest.approx(1.55, abs=0.02))


def test_which_way_is_good_decides_the_word() -> None:
    own = np.where(STEPS < 140, 1.2, 9.0)
    at = STEPS.astype(float)
    words = [beside_many(others(), "kl_ref", "step", at, own, way, "step") for way in ("up", "down", "none")]
    assert [w.words.split()[0] for w in words if w is not None] == ["ahead", "behind", "above"]
    steady = beside_many(others(), "kl_ref", "step", at, np.full(300, 1.4), "up", "step")
    assert steady is not None
    assert steady.words == "inside for 100 % of the way"


def test_three_others_make_no_band_and_a_metric_that_nobody_logs_has_no_line() -> None:
    at = STEPS.astype(float)
    assert beside_many(others()[:3], "kl_ref", "step", at, at, "up", "step") is None
    assert beside_many(others(), "entropy", "step", at, at, "up", "step") is None
    assert beside_one(others()[0], "entropy", "step") is None


def test_the_axes_are_steps_seconds_or_tokens() -> None:
    r = run("a", STEPS * 1.0, tokens=RunCurve(STEPS, STEPS * 1000.0), hours=RunCurve(STEPS, STEPS / 60.0))
    ends = {axis: found[0][-1] for axis in ("step", "time", "tokens") if (found := line(r, "kl_ref", axis)) is not None}
    assert ends == {"step": 300, "time": pytest.approx(18_000), "tokens": 300_000}
    assert line(run("b", STEPS * 1.0, tokens=None), "kl_ref", "tokens") is None


def test_a_thinned_curve_keeps_its_mean_and_its_end() -> None:
    curve = RunCurve(np.arange(10_007), np.arange(10_007) * 1.0)
    thin = thinned(curve, 100)
    assert len(thin) == 100
    assert thin.steps[-1] == 10_006
    assert np.interp(5000, thin.steps, thin.values) == pytest.approx(5000, abs=101)
    assert thinned(thin, 100) is thin
