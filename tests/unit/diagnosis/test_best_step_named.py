"""The best step that is named is the one that the rest of the report can stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.reported import told

ROWS = 240


def farmed(rows: int, since: float) -> dict[str, np.ndarray]:
    """What is paid for style rises all the while; the answers get worse from a moment on."""
    t = np.arange(rows) / rows
    right = 0.35 + 0.2 * np.minimum(t, since) - 0.4 * np.maximum(0.0, t - since) + wave(0, 0.01, rows, 11)
    style = 0.2 + 0.7 * t + wave(0, 0.01, rows, 12)
    base = learning(rows)
    return {
        "loss": base["loss"],
        "grad_norm": base["grad"],
        "entropy": base["entropy"],
        "kl": base["kl"],
        "learning_rate": wave(1e-6, 0, rows),
        "completions/mean_length": base["length"],
        "rewards/correctness_reward/mean": right,
        "rewards/style_reward/mean": style,
        "reward": right + style,
        "reward_std": wave(0.3, 0.01, rows, 13),
    }


def best_of(columns: Any, run: Path, saved: tuple[int, ...] = (), **how: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    for step in saved:
        (run / f"checkpoint-{step}").mkdir(parents=True)
        (run / f"checkpoint-{step}" / "model.safetensors").write_bytes(b"weights")
    _, _, of = told(write(run, columns, **how))
    best: dict[str, Any] = of["verdict"]["best_checkpoint"]
    return of, best


@pytest.mark.parametrize("since", [0.0, 0.3, 0.6])
def test_a_farmed_reward_does_not_choose_the_best_step(since: float, tmp_path: Path) -> None:
    """The part that is the task does: the total is highest where it is farmed most."""
    of, best = best_of(farmed(ROWS, since), tmp_path / "run")
    assert any(f["id"] == "reward-component-decoupling" for f in of["findings"])
    assert best["metric"] == "rewards/correctness_reward/mean"
    assert abs(best["step"] - since * ROWS) <= 0.1 * ROWS
    assert "stands for the task no longer" in best["basis"]


def test_the_saved_checkpoint_with_the_best_answers_is_kept(tmp_path: Path) -> None:
    _, best = best_of(farmed(ROWS, 0.4), tmp_path / "run", saved=(80, 160, 240))
    assert best["step"] == 80


def test_a_reward_whose_parts_rise_together_chooses_itself(tmp_path: Path) -> None:
    columns = farmed(ROWS, 1.0)
    columns["rewards/correctness_reward/mean"] = 0.3 + 0.4 * np.arange(ROWS) / ROWS + wave(0, 0.01, ROWS, 14)
    columns["reward"] = columns["rewards/correctness_reward/mean"] + columns["rewards/style_reward/mean"]
    of, best = best_of(columns, tmp_path / "run")
    assert best["metric"] == "reward"
    assert (best["step"], best["before"]) == (of["facts"]["score"]["peak"]["step"], None)


@pytest.mark.parametrize("begins", [30, 60])
def test_a_best_step_from_before_a_fault_is_called_so(begins: int, tmp_path: Path) -> None:
    """The reward goes on rising for a while behind the step at which the policy began to fall apart."""
    t = np.arange(ROWS)
    columns = learning(ROWS) | {
        "score": np.interp(t, [0, begins, begins + 50, ROWS], [0.3, 0.4, 0.6, 0.15]) + wave(0, 0.01, ROWS, 15),
        "entropy": np.where(t < begins, 0.5, 0.5 + 4 * (1 - np.exp(-(t - begins) / 60))) + wave(0, 0.01, ROWS, 16),
    }
    page, _, of = told(write(tmp_path / "run", columns))
    best = of["verdict"]["best_checkpoint"]
    peak = of["facts"]["score"]["peak"]["step"]
    assert best["step"] < peak
    assert best["before"] is not None
    assert best["step"] < best["before"] <= peak
    assert f"best step before the fault was {best['step']} (" in page
    assert f"of the steps before {best['before']}" in best["basis"]


def test_of_a_reward_that_only_falls_the_first_step_is_the_start(tmp_path: Path) -> None:
    """And not one that is worse than the start."""
    fall = 0.35 - 0.2 * np.minimum(1, np.arange(ROWS) / 50)
    fall[:2] += 0.1
    page, _, of = told(write(tmp_path / "run", learning(ROWS) | {"score": fall + wave(0, 0.004, ROWS, 17)}))
    best = of["verdict"]["best_checkpoint"]
    assert (best["step"] <= 3, best["beats_start"], best["against"]) == (True, False, "which is the start")
    assert "start of" not in page.split("- Keep:")[1].split("\n")[0]
