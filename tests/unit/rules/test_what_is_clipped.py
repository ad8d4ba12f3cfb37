"""What the share of clipped tokens tells beside the KL and the learning rate: a range that is far too narrow, rollouts
that are older since a step, and steps that are too large."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write
from tests.unit.rules.asked import asking

ROWS, AT = 200, 120
T = np.arange(ROWS)
STEPS, RANGE = "policy-step-too-large", "cfg-clip-range-wrong-scale"


@pytest.mark.parametrize(("kl", "narrow"), [(2e-6, True), (0.02, False)], ids=["hardly moved", "moved"])
def test_tokens_that_are_clipped_though_they_hardly_moved(
    kl: float, narrow: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = learning(ROWS) | {
        "score": wave(0.3, 0.03, ROWS, 1),
        "clip": wave(0.42, 0.03, ROWS, 2),
        "kl": kl * (1 + T) * np.exp(wave(0, 0.2, ROWS, 3)),
        "ppo_kl": wave(0.0, 1e-7, ROWS, 4),
    }
    of = report(write(tmp_path / "run", columns), capsys)
    found, steps = finding(of, RANGE), finding(of, STEPS)
    assert (found is not None and "a token at most" in found["summary"]) == narrow
    assert (steps is not None and steps["severity"] == "critical") == (not narrow)


GREW = np.where(T >= AT, 0.07, 0.003)
CASES = {
    "at once": (GREW, np.full(ROWS, 1e-6), True),
    "over 15 rows": (0.003 + 0.07 * np.clip((T - AT) / 15, 0, 1), np.full(ROWS, 1e-6), True),
    "the rate went up": (GREW, np.where(T >= AT, 4e-6, 1e-6), False),
    "over 100 rows": (0.003 + 0.07 * np.clip((T - 80) / 100, 0, 1), np.full(ROWS, 1e-6), False),
    "twice as many": (np.where(T >= AT, 0.07, 0.03), np.full(ROWS, 1e-6), False),
}


@pytest.mark.parametrize(("clip", "rate", "older"), CASES.values(), ids=list(CASES))
def test_more_is_clipped_at_the_same_rate(
    clip: np.ndarray, rate: np.ndarray, older: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = learning(ROWS) | {"clip": clip * np.exp(wave(0, 0.4, ROWS, 2)), "lr": rate}
    with asking(STEPS):
        found = finding(report(write(tmp_path / "run", columns), capsys), STEPS)
    assert (found is not None and "rollouts seem to be older" in found["summary"]) == older
    assert found is None or not older or abs(found["onset_step"] - AT) <= 12


@pytest.mark.parametrize(("over", "older"), [(20, True), (80, False)], ids=["over 20 rows", "over 80 rows"])
def test_steps_that_became_too_large_are_laid_to_older_rollouts(
    over: int, older: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip = 0.004 + 0.3 * np.clip((T - AT) / over, 0, 1)
    columns = learning(ROWS) | {"clip": clip * np.exp(wave(0, 0.2, ROWS, 2)), "lr": np.full(ROWS, 2e-5)}
    found = finding(report(write(tmp_path / "run", columns), capsys), STEPS)
    assert found is not None
    cause = found["causes"][0]
    assert cause["text"].startswith("Rollouts are older since about that step") == older, cause
