"""Whole numbers that count no steps: of work, of a rollout's length, inside a step, and among settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reported import ends, reported

STEPS = 30
TRUE = (STEPS, pytest.approx(0.21), pytest.approx(0.5))
"""How many rewards, the first and the last."""


def blocks(*lines: str, counts: range = range(1)) -> str:
    told = [
        line.format(i=i, k=k, r=0.2 + i / 100 if k == counts[-1] else 9.0, x=1 / i, n=60 + i % 5, s=120 + i % 9)
        for i in range(1, STEPS + 1)
        for k in counts
        for line in lines
    ]
    return "\n".join([*told, ""])


def run_of(text: str, folder: Path) -> dict[str, Any]:
    (folder / "train.log").write_text(text)
    report = reported(folder)
    steps = report["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"], report["run"]["restarts"]) == (1, STEPS, STEPS, [])
    assert ends(report, "reward_mean") == TRUE
    return report


BELOW_WORK = {
    "a count alone": ("[{i}/60] sampled 64 answers", "  reward: {r:.3f}", "  loss: {x:.4f}"),
    "with a share": ("[{i}/60] kept {n}/64 prompts", "reward={r:.3f} loss={x:.4f}"),
    "within the step": ("step {i}", "processed 256 samples", "filtered {n} of 64", "reward: {r:.3f}", "loss: {x:.4f}"),
}


@pytest.mark.parametrize("lines", BELOW_WORK.values(), ids=BELOW_WORK)
def test_work_for_a_step(lines: tuple[str, ...], tmp_path: Path) -> None:
    report = run_of(blocks(*lines), tmp_path)
    assert {"total_loss", "reward_mean"} <= report["metrics"].keys()


@pytest.mark.parametrize(
    "line", ["outer {i} inner {k} loss {x:.4f} reward {r:.3f}", "outer={i}, inner={k}, reward={r:.3f}"]
)
def test_two_counts_in_a_line(line: str, tmp_path: Path) -> None:
    report = run_of(blocks(line, counts=range(4)), tmp_path)
    assert not any("inner" in str(key) for key in report["metrics"])


@pytest.mark.parametrize("length", ["steps: 128", "steps: {s}", "num_steps: {s}"])
def test_how_long_a_rollout_was(length: str, tmp_path: Path) -> None:
    run_of(blocks("--- rollout {i} ---", length, "reward: {r:.3f}", "loss: {x:.4f}"), tmp_path)


SETTINGS = (
    "step: 0\nlr: 1e-6\nkl_coef: 0.05\nclip: 0.2\n",
    "step: 0, lr: 1e-6, kl_coef: 0.05, clip: 0.2\n",
    "seed: 0\nlr: 1e-6\n",
)
ROWS = {
    "a line each": ("[{i}/30] reward={r:.3f} loss={x:.4f}",),
    "blocks": ("step: {i}", "reward: {r:.3f}", "loss: {x:.4f}"),
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("settings", SETTINGS)
def test_settings_that_name_a_step(settings: str, rows: tuple[str, ...], tmp_path: Path) -> None:
    run_of(settings + blocks(*rows), tmp_path)


def test_a_first_step_of_0_counts(tmp_path: Path) -> None:
    line = "step: {i}, reward: {r:.3f}, lr: 1e-6, beta: 0.1\n"
    (tmp_path / "train.log").write_text(line.format(i=0, r=0.2) + blocks(line.strip()))
    steps = reported(tmp_path)["run"]["steps"]
    assert (steps["first"], steps["rows"]) == (0, STEPS + 1)


def test_steps_in_a_block_of_epochs_count(tmp_path: Path) -> None:
    lines = ("--- epoch {i} ---", "steps: {i}00", "reward: {r:.3f}", "loss: {x:.4f}")
    (tmp_path / "train.log").write_text(blocks(*lines))
    assert reported(tmp_path)["run"]["steps"]["rows"] == STEPS
