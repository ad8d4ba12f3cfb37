"""What loops print between the lines of their steps, in many styles: no row is lost, none is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.readers.reported import ends, reported

LAST = 45

STYLES: dict[str, Callable[[int], str]] = {
    "pipes": lambda i: f"step {i} | reward {i / 200:.4f} | kl {i / 1000:.5f} | len {200 + i}",
    "brackets": lambda i: f"[{i:>4}/{LAST}] reward={i / 200:.4f} kl={i / 1000:.5f} len={200 + i}",
    "sentence": lambda i: f"Finished iteration {i} with mean reward {i / 200:.4f} and KL {i / 1000:.5f}",
    "logger": lambda i: (
        f"2026-05-01 10:00:00,123 - trainer - INFO - update {i}: reward: {i / 200:.4f}, kl: {i / 1000:.5f}"
    ),
    "below a heading": lambda i: f"=== Step {i} ===\n  reward: {i / 200:.4f}\n  kl: {i / 1000:.5f}",
    "box": lambda i: (
        f"+----------+---------+\n| step     | {i:<7} |\n| reward   | {i / 200:.4f}  |\n"
        f"| kl       | {i / 1000:.5f} |\n+----------+---------+"
    ),
    "table": lambda i: f"{i:>6} {i / 200:>10.4f} {i / 1000:>10.5f}",
    "arrows": lambda i: f"iter {i} -> reward {i / 200:.4f}; kl {i / 1000:.5f}; 3.1s",
}
HEADERS = {"table": "  step     reward         kl\n"}

BETWEEN: dict[str, Callable[[int], list[str]]] = {
    "the best so far": lambda i: [f"New best reward: {i / 200:.4f} (step {i})"],
    "an improvement": lambda i: [f"Reward improved from {i / 210:.4f} to {i / 200:.4f}, saving model at step {i}"],
    "memory": lambda i: [f"[mem] step {i}: allocated {10 + i % 7:.1f} GiB, reserved 40.1 GiB"],
    "the rate": lambda i: [f"lr -> {1e-6 * (1 - i / 200):.3e} at step {i}"],
    "an epoch": lambda i: [f"Epoch {i // 20} started", f"dataset reshuffled with seed {i * 7 % 31}"],
    "a sample": lambda i: ["Prompt: What is 3 + 4?", "Completion: Step 1: 3 + 4 = 7. So it is 7.", f"Score: {i % 2}.0"],
    "a failure": lambda i: ["Traceback (most recent call last):", '  File "/a.py", line 8, in score', "ValueError: x"],
    "time": lambda i: [f"rollout took {3 + i % 5}.25s, 512 samples, {900 + i}.5 tok/s", f"Step {i} completed in 4.5s"],
}


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("style", STYLES)
def test_no_step_is_lost(style: str, between: str, every: int, tmp_path: Path) -> None:
    lines = ["Starting training", "Config: lr=1e-6, batch=64"]
    for i in range(1, LAST + 1):
        lines += [STYLES[style](i), *(BETWEEN[between](i) if i % every == 0 else ())]
    (tmp_path / "train.log").write_text(HEADERS.get(style, "") + "\n".join(lines) + "\n")
    report = reported(tmp_path)
    steps = report["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (1, LAST, LAST)
    assert report["run"]["restarts"] == []
    assert ends(report, "reward_mean") == (LAST, 0.005, LAST / 200)
    assert ends(report, "kl_ref") == (LAST, 0.001, LAST / 1000)


STOPPED = {
    "a resume": (["RuntimeError: CUDA error", "Starting training", "Config: lr=1e-6, batch=64"], 31),
    "a resume without a word": ([], 31),
    "a resume where it ended": (["Starting training", "Resumed from step 40"], 41),
    "a launch begun anew": (["Starting training", "Config: lr=1e-6, batch=64"], 1),
}


@pytest.mark.parametrize("stopped", STOPPED)
@pytest.mark.parametrize("style", STYLES)
def test_a_launch_that_stopped_costs_no_row(style: str, stopped: str, tmp_path: Path) -> None:
    """A line of settings above the steps is not what they are counted inside of."""
    said, again = STOPPED[stopped]
    lines = ["Starting training", "Config: lr=1e-6, batch=64", *map(STYLES[style], range(1, 41)), *said]
    lines += map(STYLES[style], range(again, LAST + 1))
    (tmp_path / "train.log").write_text(HEADERS.get(style, "") + "\n".join(lines) + "\n")
    report = reported(tmp_path)
    assert (report["run"]["steps"]["first"], report["run"]["steps"]["last"]) == (1, LAST)
    assert ends(report, "reward_mean") == (LAST, 0.005, LAST / 200)
    assert ends(report, "kl_ref") == (LAST, 0.001, LAST / 1000)


BEFORE = {
    "a part with epochs of its own": ["[sft] epoch 1 loss 1.23", "[sft] epoch 2 loss 1.11", "[sft] epoch 3 loss 1.02"],
    "an evaluation": ["Evaluating before training...", "step 0: val_acc=0.1200 (n=200)"],
    "settings": ["lr: 1e-06", "batch_size: 64", "kl_coef: 0.05", "num_steps: 70", "reward_scale: 1.0"],
    "a warm-up": ["Warmup 1/3 done in 1.2s", "Warmup 2/3 done in 1.1s", "Warmup 3/3 done in 1.0s"],
}


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("style", STYLES)
def test_what_comes_before_the_first_step(style: str, before: str, tmp_path: Path) -> None:
    steps = "\n".join(map(STYLES[style], range(1, LAST + 1)))
    (tmp_path / "train.log").write_text("\n".join(BEFORE[before]) + "\n" + HEADERS.get(style, "") + steps + "\n")
    report = reported(tmp_path)
    assert report["run"]["steps"]["last"] == LAST
    assert ends(report, "reward_mean") == (LAST, 0.005, LAST / 200)
    assert ends(report, "kl_ref") == (LAST, 0.001, LAST / 1000)
