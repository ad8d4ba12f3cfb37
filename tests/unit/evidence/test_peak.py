"""Whether a metric has come down from its best: series of known truth, of every scale, length and sparseness."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.cli import main
from rltui.evidence.metric import MetricFacts
from rltui.evidence.peak import highest
from rltui.run.table import Floats
from tests.unit.evidence.test_facts import SCORE, facts_of, look, white

EVALUATION = "val_score"
FEW_IS_GOOD = "response_clip_ratio"

names = st.sampled_from([SCORE, EVALUATION])
scales = st.sampled_from([1e-9, 1e-3, 1.0, 1e3, 1e9])
heights = st.sampled_from([0.0, 1.0, -3.0, 50.0])
lengths = st.integers(1, 400)


def stands(one: MetricFacts) -> bool:
    """Nothing says that it came down from its best; of fewer than 10 points nothing is said."""
    if len(one.values) < 10:
        return one.since_peak is None
    return one.since_peak is not None and one.since_peak.direction == 0


def rising(n: int, kind: str, seed: int) -> Floats:
    t = np.arange(n) / max(1, n - 1)
    return {
        "straight": t,
        "slowing": 1.0 - np.exp(-6.0 * t),
        "quickening": np.exp(6.0 * t) / np.exp(6.0),
        "late": np.where(t > 0.97, 1.0, 0.0),
        "stairs": np.floor(7.0 * t) / 7.0,
        "quantised": np.round(16.0 * t) / 16.0,
        "uneven": np.cumsum(np.random.default_rng(seed).exponential(size=n)) / n,
        "heavy-tailed": np.cumsum(np.random.default_rng(seed).pareto(1.0, size=n)) / n,
    }[kind]


kinds = st.sampled_from(["straight", "slowing", "quickening", "late", "stairs", "quantised", "uneven", "heavy-tailed"])


@given(lengths, kinds, st.integers(0, 1000), scales, heights, names)
@settings(max_examples=400, deadline=None)
def test_what_never_fell_is_not_below_its_best(
    n: int, kind: str, seed: int, scale: float, height: float, name: str
) -> None:
    x = scale * (height + rising(n, kind, seed))
    assert stands(facts_of(x, name=name))
    assert stands(facts_of(-x, name=FEW_IS_GOOD))


@given(lengths, kinds, st.integers(0, 1000), st.floats(1e-6, 0.2), names)
@settings(max_examples=200, deadline=None)
def test_a_rise_with_holes_and_a_little_noise_is_not_below_its_best(
    n: int, kind: str, seed: int, noise: float, name: str
) -> None:
    chance = np.random.default_rng(seed)
    x = rising(n, kind, seed)
    step = float(np.abs(np.diff(x)).max()) if n > 1 else 1.0
    x = x + min(noise, step) * 1e-3 * chance.normal(size=n)
    x[chance.random(n) < 0.3] = np.nan
    found = look({name: x}).facts.metric(name)
    assert found is None or stands(found)


@given(st.integers(10, 300), scales, heights, st.integers(0, 299), names)
@settings(max_examples=200, deadline=None)
def test_one_odd_value_is_no_best(n: int, scale: float, height: float, at: int, name: str) -> None:
    x = np.full(n, height)
    x[at % n] += 5.0
    assert stands(facts_of(scale * x, name=name))


@pytest.mark.parametrize("name", [SCORE, EVALUATION])
def test_one_odd_value_in_noise_is_rarely_a_best(name: str) -> None:
    wrong = 0
    for seed in range(150):
        x = 0.1 * white(seed, 20 + 2 * seed)
        x[seed * 7 % len(x)] += 5.0
        wrong += not stands(facts_of(x, name=name))
    assert wrong <= 3


@given(lengths, scales, heights, names)
@settings(max_examples=100, deadline=None)
def test_a_constant_stands_at_its_best(n: int, scale: float, height: float, name: str) -> None:
    assert stands(facts_of(np.full(n, scale * (height + 0.1)), name=name))


@given(st.integers(100, 400), st.floats(0.3, 0.8), st.floats(0.0, 0.05), scales, heights, st.integers(0, 1000), names)
@settings(max_examples=200, deadline=None)
def test_a_clear_fall_is_seen(
    n: int, at: float, noise: float, scale: float, height: float, seed: int, name: str
) -> None:
    """Of a ramp, and of a level that was left at once; evaluations that hardly differ by noise are two."""
    t = np.arange(n) / n
    chance = noise * np.random.default_rng(seed).normal(size=n)
    ramp = np.where(t < at, t / at, 1.0 - (t - at) / (1.0 - at)) + chance
    drop = np.where(t < at, 1.0, 0.2) + chance
    for x in (ramp, drop) if noise > 1e-3 or name == SCORE else (ramp,):
        found = facts_of(scale * (height + x), name=name).since_peak
        assert found is not None
        assert found.direction == -1
        assert abs(found.value) >= 0.3 * scale


def test_no_sentence_puts_a_steady_rise_below_its_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"step": i, "reward": 0.1 + 0.004 * i, "entropy": 0.9, "grad_norm": 0.4, "lr": 1e-6} for i in range(1, 201)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["facts"]["score"] or report["facts"]["reward"])["since_peak"]["direction"] == 0
    assert main(["report", str(tmp_path), "--long"]) == 0
    assert "below its best" not in capsys.readouterr().out


def test_of_equal_heights_the_first_is_the_best_whatever_their_last_digits() -> None:
    assert highest(np.array([0.1, 0.3, 0.3 + 1e-16 * 3, 0.2])) == 1
    assert highest(np.array([0.1, 0.3, 0.3001, 0.2])) == 2
