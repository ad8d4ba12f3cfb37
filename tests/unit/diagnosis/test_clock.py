"""The same run with every second row, or logged every five steps, is the same run; holes in a log are no lost run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.evidence.model import Diagnosis
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise

HALT = {"stop-use-best", "pause-and-fix", "abort-now"}


def loud(d: Diagnosis) -> set[str]:
    return {f.id for f in d.findings if f.status == "active" and f.severity != "info"}


def short_run(n: int) -> dict[str, np.ndarray]:
    """In its last fifth most groups die and most gradients with them, at the ceiling of the reward."""
    rng = np.random.default_rng(4)
    t = np.arange(n) / n
    late = t >= 0.8
    return {
        "score_mean": np.clip(0.3 + 0.9 * t + 0.01 * noise(rng, n), 0, 1),
        "frac_reward_zero_std": np.clip(np.where(late, 0.9, 0.2) + 0.02 * noise(rng, n), 0, 1),
        "grad_norm": np.where(late, 1e-7, 0.5) * np.exp(0.1 * noise(rng, n)),
    }


@pytest.mark.parametrize("n", [100, 160])
def test_every_second_row_tells_the_same(n: int) -> None:
    columns = short_run(n)
    all_rows = Engine().advance(FakeRun(columns, planned=n).grow())
    steps = list(range(2, n + 1, 2))
    half = Engine().advance(FakeRun({k: v[1::2] for k, v in columns.items()}, steps=steps, planned=n).grow())
    assert loud(all_rows)
    assert loud(half) == loud(all_rows)
    assert half.verdict.decision == all_rows.verdict.decision


def test_250_steps_logged_every_5_are_long_enough_to_have_learnt_nothing() -> None:
    rng = np.random.default_rng(1)
    columns = {"score_mean": 0.4 + 0.02 * noise(rng, 50), "kl_ref": 1e-6 * (1 + 0.1 * noise(rng, 50))}
    assert "reward-flat-from-start" in loud(Engine().advance(FakeRun(columns, steps=range(5, 251, 5)).grow()))
    few = {k: v[:8] for k, v in columns.items()}
    assert not loud(Engine().advance(FakeRun(few, steps=range(5, 41, 5)).grow()))


def test_numbers_missing_now_and_then_are_holes_in_the_log() -> None:
    rng = np.random.default_rng(6)
    columns = {
        name: np.where(rng.random(300) < 0.1, np.nan, np.array(x, float)) for name, x in learning_run(0, 300).items()
    }
    d = Engine().advance(FakeRun(columns, planned=300).grow())
    assert d.verdict.decision not in HALT
    assert "nonfinite-values" not in loud(d)


def test_a_metric_that_stays_not_a_number_is_lost() -> None:
    columns = learning_run(0, 300) | {"pg_loss": np.where(np.arange(300) >= 297, np.nan, 0.1)}
    d = Engine().advance(FakeRun(columns, planned=300).grow())
    assert d.verdict.decision == "abort-now"
    one = learning_run(0, 300) | {"pg_loss": np.where(np.arange(300) == 200, np.nan, 0.1)}
    assert Engine().advance(FakeRun(one, planned=300).grow()).verdict.decision not in HALT


def test_hacking_of_a_reward_in_per_cent_shows_in_the_accuracy_that_a_trainer_evaluates(tmp_path: Path) -> None:
    rng, n = np.random.default_rng(2), 300
    with (tmp_path / "metrics.jsonl").open("w") as file:
        for i in range(n):
            t = i / n
            row = {"step": i + 1, "reward": 20 + 70 * (1 - np.exp(-4 * t)) + 2.5 * rng.standard_normal()}
            row |= {"completions/mean_length": 300.0, "grad_norm": 0.5, "reward_std": 20.0}
            if i % 15 == 14:
                row["eval_accuracy"] = (30 + 71 * t if t < 0.35 else 55 - 54 * (t - 0.35)) + rng.standard_normal()
            file.write(json.dumps(row) + "\n")
    opened = RunReader(locate([str(tmp_path)])[0])
    opened.load()
    d = opened.diagnosis()
    opened.close()
    assert {"val-regression", "train-val-divergence"} & loud(d)
    assert d.verdict.decision in HALT
