"""What was gained before pays for a fall of entropy or a growth of KL of then, and not for one that goes on of its own;
how long it lasts counts in steps, however often the run logs."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.evidence.model import Finding
from tests.draws import some
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.rules.asked import near


def noise(rows: int, size: float, seed: int) -> np.ndarray:
    return size * np.random.default_rng(seed).standard_normal(rows)


def found(rule: str, columns: dict[str, np.ndarray], rows: int, every: int = 1) -> Finding | None:
    """The open finding of a rule, after so many rows of a run that logs every so many steps."""
    run = FakeRun({name: x[:rows] for name, x in columns.items()}, steps=every * (1 + np.arange(rows)))
    of = near(rule).advance(run.grow())
    return next((f for f in of.findings if f.id == rule and f.status == "active"), None)


def settling(end: int, rows: int, seed: int, gains: bool) -> dict[str, np.ndarray]:
    """Entropy that halves every 40 rows from row 60 on; a reward that ends to rise at row `end`, or that goes on."""
    t = np.arange(rows)
    rise = 0.35 * np.minimum(t / end, 1.0) if not gains else 0.35 * t / end
    entropy = 0.9 * 0.5 ** (np.clip(t - 60, 0, None) / 40)
    return {
        "entropy": entropy * (1 + noise(rows, 0.03, seed)),
        "score_mean": 0.15 + rise + noise(rows, 0.015, seed + 1),
        "kl_ref": 0.02 + 0.0001 * t + noise(rows, 0.001, seed + 2),
    }


@pytest.mark.parametrize("seed", some([1, 2]))
def test_low_entropy_is_loud_once_the_reward_gains_no_more(seed: int) -> None:
    ended = found("entropy-collapse", settling(200, 330, seed, gains=False), 330)
    assert ended is not None
    assert ended.severity == "warning"
    going = found("entropy-collapse", settling(400, 330, seed, gains=True), 330)
    assert going is None or going.severity == "info"


def starved(rows: int, share: float, seed: int) -> dict[str, np.ndarray]:
    """Entropy that is gone within ten rows from row 30 on, and groups that agree from then on."""
    t = np.arange(rows)
    gone = np.clip((t - 30) / 8, 0, 1)
    return {
        "entropy": 0.9 * 0.003**gone * (1 + noise(rows, 0.03, seed)),
        "score_mean": 0.2 + 0.3 * np.minimum(t / 32, 1) + noise(rows, 0.02, seed + 1),
        "frac_reward_zero_std": np.clip(0.2 + (share - 0.2) * gone + noise(rows, 0.02, seed + 2), 0, 1),
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_groups_that_agree_since_entropy_is_gone_are_the_harm(seed: int) -> None:
    loud = found("entropy-collapse", starved(46, 0.8, seed), 46, every=5)
    assert loud is not None
    assert loud.severity in ("warning", "critical")
    few = found("entropy-collapse", starved(46, 0.3, seed), 46, every=5)
    assert few is None or few.severity == "info"


def running_away(rows: int, seed: int, gains: bool) -> dict[str, np.ndarray]:
    """A KL that doubles every 32 rows from row 180 on; a reward that rises all along, or that ends to at row 190."""
    t = np.arange(rows)
    kl = 0.03 * np.minimum(t / 60, 1.0) * 2 ** (np.clip(t - 180, 0, None) / 32)
    rise = 0.4 * (t if gains else np.minimum(t, 190)) / 190
    return {
        "kl_ref": (kl + 1e-4) * np.exp(noise(rows, 0.05, seed)),
        "score_mean": 0.15 + rise + noise(rows, 0.02, seed + 1),
        "entropy": 0.8 - 0.0005 * t + noise(rows, 0.01, seed + 2),
    }


@pytest.mark.parametrize("seed", some([1, 2]))
def test_a_kl_that_doubles_again_and_again_is_not_paid_for_by_what_was_gained_before(seed: int) -> None:
    away = found("kl-runaway", running_away(400, seed, gains=False), 308)
    assert away is not None
    assert away.severity in ("warning", "critical")
    paid = found("kl-runaway", running_away(400, seed, gains=True), 308)
    assert paid is None or paid.severity == "info"


@pytest.mark.parametrize("every", [1, 5])
def test_an_outage_is_lost_after_as_many_steps_however_often_the_run_logs(every: int) -> None:
    rows = 400 // every
    t = every * np.arange(rows)
    fails = t >= 210
    score = np.where(fails, 1.0, 0.2 + 0.3 * np.minimum(t / 150, 1) + noise(rows, 0.02, 3))
    columns = {
        "score_mean": score,
        "reward_std": np.where(fails, 0.0, 0.3 + noise(rows, 0.01, 4)),
        "entropy": 0.8 + noise(rows, 0.01, 5),
        "response_length_mean": 300 + noise(rows, 5, 6),
    }
    early = found("reward-function-fault", columns, 240 // every, every)
    assert early is not None
    assert early.severity == "warning"
    late = found("reward-function-fault", columns, 290 // every, every)
    assert late is not None
    assert late.severity == "critical"
