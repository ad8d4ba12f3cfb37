"""A loud finding is over when its metric is back where it was before, not when nobody looks at the jump any more."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rltui.cli import main
from rltui.diagnosis.engine import Engine
from rltui.evidence.model import Diagnosis, Finding
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import noise
from tests.unit.diagnosis.written import finding, learning, report, write

ROWS, AT = 300, 140


def columns(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    rise = 0.2 + 0.4 * (1 - np.exp(-np.arange(ROWS) / 100))
    return {
        "score_mean": rise + 0.02 * noise(rng, ROWS),
        "grad_norm": 0.3 * np.exp(0.15 * noise(rng, ROWS)),
        "entropy": 0.8 * np.exp(0.03 * noise(rng, ROWS)),
        "response_clip_ratio": np.zeros(ROWS),
    }


def said(x: dict[str, np.ndarray], rule: str, every: int = 15) -> list[Finding | None]:
    """The loud finding of a rule at each of many looks at the growing run, None if there is none."""
    run, engine = FakeRun(x), Engine()
    return [_loud(engine.advance(run.grow(n)), rule) for n in range(every, ROWS + 1, every)]


def _loud(d: Diagnosis, rule: str) -> Finding | None:
    return next((f for f in d.findings if f.id == rule and f.status == "active" and f.severity != "info"), None)


@pytest.mark.parametrize("times", [30.0, 150.0, 2000.0])
def test_a_gradient_that_stays_high_stays_told(times: float) -> None:
    x = columns()
    x["grad_norm"][AT:] *= times
    told = said(x, "grad-norm-explosion")
    first = next(i for i, f in enumerate(told) if f is not None)
    assert all(f is not None for f in told[first:])
    band = told[-1].band if told[-1] is not None else None
    assert band is not None
    assert band.now == pytest.approx(0.3 * times, rel=0.3)
    assert band.before == pytest.approx(0.3, rel=0.2)
    assert band.edge < 0.1 * 0.3 * times


def test_a_gradient_that_comes_back_is_over() -> None:
    x = columns()
    x["grad_norm"][AT : AT + 40] *= 150.0
    told = said(x, "grad-norm-explosion")
    assert told[(AT + 30) // 15] is not None
    assert told[-1] is None


def test_half_the_way_back_is_no_recovery() -> None:
    x = columns()
    x["grad_norm"][AT : AT + 40] *= 1000.0
    x["grad_norm"][AT + 40 :] *= 30.0
    assert said(x, "grad-norm-explosion")[-1] is not None


def test_a_metric_at_zero_before_has_the_limit_that_the_page_names() -> None:
    x = columns()
    x["response_clip_ratio"][AT:] = 0.6
    x["response_clip_ratio"][AT + 80 :] = 0.08
    x["score_mean"][AT:] -= 0.3
    held = said(x, "truncation-high")[-1]
    assert held is not None
    assert held.band is not None
    assert held.band.edge == 0.05
    x["response_clip_ratio"][AT + 80 :] = 0.01
    assert said(x, "truncation-high")[-1] is None


def test_report_and_card_say_when_it_is_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = learning(ROWS)
    x["grad"][AT:] *= 300.0
    run = write(tmp_path, x)
    card = finding(report(run, capsys), "grad-norm-explosion")
    assert card is not None
    assert card["severity"] == "warning"
    assert card["band"]["side"] == "below"
    assert card["band"]["now"] > 50 * card["band"]["edge"]
    assert main(["report", str(run), "--long"]) in (0, 1)
    assert f"resolved when: {card['band']['text']}" in capsys.readouterr().out


def test_a_gradient_that_died_after_its_spikes_has_not_come_back() -> None:
    """Spikes, and then nothing: every gradient is exactly 0."""
    x = columns()
    x["grad_norm"][AT : AT + 8] *= 400.0
    x["grad_norm"][AT + 8 :] = 0.0
    x["score_mean"][AT:] = 0.1
    told = said(x, "grad-norm-explosion")
    first = next(i for i, f in enumerate(told) if f is not None)
    assert all(f is not None for f in told[first:])
