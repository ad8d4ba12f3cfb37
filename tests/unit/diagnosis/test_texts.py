"""What a card says fits the numbers beside it: two windows are compared only with their rows named."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.evidence.model import Finding
from rltui.evidence.signal import num
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise

N = 400
FALL = np.clip((np.arange(N) - 150) / 150, 0, 1)


def found(columns: dict[str, object], rule: str, **settings: object) -> Finding:
    d = Engine().advance(FakeRun(columns, **settings).grow())  # type: ignore[arg-type]
    return next(f for f in d.findings if f.id == rule)


def wobble(x: object) -> np.ndarray:
    return np.asarray(x) * (1 + 0.02 * noise(np.random.default_rng(0), N))


COMPARED: list[tuple[str, str, Callable[[], np.ndarray]]] = [
    ("entropy-collapse", "entropy", lambda: wobble(0.9 - 0.85 * FALL)),
    ("entropy-explosion", "entropy", lambda: wobble(0.5 + 6 * FALL)),
    ("length-collapse", "response_length_mean", lambda: wobble(400 - 350 * FALL)),
    ("length-explosion", "response_length_mean", lambda: wobble(200 * np.exp(2 * FALL))),
    ("grad-norm-ramp", "grad_norm", lambda: wobble(0.2 * np.exp(3 * FALL))),
    ("tool-use-collapse", "tool_calls_mean", lambda: wobble(4 - 3.9 * FALL)),
    ("mismatch-growing", "rollout_train_logprob_diff", lambda: wobble(0.01 * np.exp(2 * FALL))),
]


@pytest.mark.parametrize(("rule", "metric", "series"), COMPARED, ids=[rule for rule, _, _ in COMPARED])
def test_numbers_that_are_compared_are_those_of_the_rows_named(
    rule: str, metric: str, series: Callable[[], np.ndarray]
) -> None:
    x = series()
    columns = learning_run(0, N) | {metric: x, "score_mean": wobble(np.full(N, 0.4)), "val_score": [None] * N}
    text = found(columns, rule).summary
    steps = re.search(r"medians of steps (\d+) to (\d+) and (\d+) to (\d+)", text)
    assert steps is not None, text
    a, b, c, d = (int(s) for s in steps.groups())  # row i is step i + 1
    assert d == N
    assert num(float(np.median(x[c - 1 : d]))) in text, text
    if rule != "mismatch-growing":  # tells how many times more it is
        assert num(float(np.median(x[a - 1 : b]))) in text, text


def held_open(columns: dict[str, object], rule: str, last: int) -> tuple[list[str], list[Finding]]:
    """What the rule's card says from row 300 on, and the findings, up to row `last`."""
    engine, run = Engine(), FakeRun(columns)  # type: ignore[arg-type]
    findings = [
        next(f for f in engine.advance(run.grow(n)).findings if f.id == rule and f.status == "active")
        for n in range(300, last)
    ]
    return [f.summary for f in findings], findings


def test_a_finding_that_is_held_open_shows_what_it_is_now() -> None:
    """It closes only after twice as long as it took to open: until then its numbers go on."""
    cut = np.where((np.arange(N) > 100) & (np.arange(N) < 300), 0.6, 0.001)
    flat = wobble(np.full(N, 0.4))
    columns = learning_run(0, N) | {"response_clip_ratio": cut, "score_mean": flat, "val_score": [None] * N}
    said, findings = held_open(columns, "truncation-high", 314)
    assert said[0].startswith("60 % of the responses")
    assert said[-1].startswith("0.10 % of the responses")
    assert re.search(r"This was last so at step 3\d\d\.$", said[-1])
    assert (findings[0].severity, findings[-1].severity) == ("critical", "critical")


def test_a_finding_eases_before_it_closes() -> None:
    """Cut at a third as often, it is a warning and no critical finding; the numbers are those of now."""
    cut = np.where((np.arange(N) > 100) & (np.arange(N) < 300), 0.6, 0.18)
    cut[:100] = 0.001
    flat = wobble(np.full(N, 0.4))
    columns = learning_run(0, N) | {"response_clip_ratio": cut, "score_mean": flat, "val_score": [None] * N}
    said, findings = held_open(columns, "truncation-high", 340)
    assert (findings[0].severity, findings[-1].severity) == ("critical", "warning")
    assert said[-1].startswith("18 % of the responses")


def test_numbers_that_are_not_of_now_say_of_which_step_they_are() -> None:
    x = np.where(np.arange(N) < 150, 0.7, np.where(np.arange(N) < 300, 0.05, 0.7))
    columns = learning_run(0, N) | {"score_mean": wobble(x), "val_score": [None] * N}
    said, _ = held_open(columns, "reward-collapse", 310)
    assert re.search(r"This was last so at step 3\d\d, and these numbers are of then\.$", said[-1])
