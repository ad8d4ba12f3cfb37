"""Bars between, above and right behind lines of numbers, through the command line: no row and no step is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.cli import main

N = 40
Line = Callable[[int], str]


def bar(name: str, done: int, total: int = N, tail: str = "") -> str:
    share = f"{100 * done / total:3.0f}%|{'█' * (10 * done // total):10}| {done}/{total} [00:10<01:30, 12.1it/s{tail}]"
    return f"{name}: {share}" if name else share


def pairs(i: int) -> str:
    return f"reward={i / 100:.4f} kl={i / 1000:.5f} loss=0.0123"


def words(i: int) -> str:
    return f"Reward: {i / 100:.4f}, KL: {i / 1000:.5f}, loss: 0.0123"


def steps(i: int) -> str:
    return f"step {i} reward {i / 100:.4f} kl {i / 1000:.5f} loss 0.0123"


GLUED = {
    "a named bar": lambda i: steps(i) + (bar("Processed prompts", 256, 256) if i % 7 == 3 else ""),
    "a bar without a name": lambda i: steps(i) + (bar("", 64, 64) if i % 7 == 3 else ""),
    "a bar at half, behind a blank": lambda i: steps(i) + (" " + bar("Generating", 32, 64) if i % 5 == 3 else ""),
    "each line": lambda i: f"[{i}/{N}] {pairs(i)}" + bar("Adding requests", 8, 8),
    "stamped lines": lambda i: f"2026-03-01 09:{i:02}:03,120 INFO {steps(i)}" + (bar("", 9, 9) if i % 4 == 1 else ""),
}
BELOW = {
    "pairs below": lambda i: f"{bar('', i)}\n{pairs(i)}",
    "pairs above": lambda i: f"{pairs(i)}\n{bar('', i)}",
    "words below a named bar": lambda i: f"{bar('GRPO', i)}\n{words(i)}",
    "written while the bar is at the step before": lambda i: f"{bar('Training', i - 1)}\n{words(i)}",
    "two lines": lambda i: f"{bar('', i)}\nreward={i / 100:.4f} len=310\nkl={i / 1000:.5f} loss=0.0123",
    "stamped": lambda i: f"{bar('', i)}\n2026-03-01 09:{i:02}:03,120 INFO {pairs(i)}",
}


def exported(path: Path, line: Line, capsys: pytest.CaptureFixture[str]) -> dict[int, dict[str, float]]:
    path.write_text("".join(line(i) + "\n" for i in range(1, N + 1)))
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    return {row["step"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}


@pytest.mark.parametrize("style", [*GLUED, *BELOW])
def test_each_step_has_its_numbers(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = exported(tmp_path / "train.log", (GLUED | BELOW)[style], capsys)
    assert {i: (row["reward_mean"], row["kl_ref"]) for i, row in found.items()} == {
        i: (pytest.approx(i / 100), pytest.approx(i / 1000)) for i in range(1, N + 1)
    }
    assert {row["total_loss"] for row in found.values()} == {0.0123}
    assert not any("time_per_step_s" in row for row in found.values()), "12.1it/s is no time"


@pytest.mark.parametrize("style", BELOW)
def test_settings_above_the_first_bar_are_no_row(
    style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def line(i: int) -> str:
        return (
            f"lr=1e-06 kl_coef=0.04 reward_scale=2.0\nloading the model\n{BELOW[style](i)}"
            if i == 1
            else BELOW[style](i)
        )

    found = exported(tmp_path / "train.log", line, capsys)
    assert {i: row["reward_mean"] for i, row in found.items()} == {i: pytest.approx(i / 100) for i in range(1, N + 1)}


@pytest.mark.parametrize("said", ["2.0it/s", "2.0 iter/s", "2.0 steps/s"])
def test_how_many_steps_a_second_is_no_time_of_a_step(
    said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = exported(tmp_path / "train.log", lambda i: f"{steps(i)} {said}", capsys)
    assert len(found) == N
    assert not any("time_per_step_s" in row for row in found.values())


@pytest.mark.parametrize("every", [2, 5, 8])
def test_a_heading_that_repeats_the_count_now_and_then(
    every: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def line(i: int) -> str:
        told = f"update {i}: reward: {i / 100:.4f} kl: {i / 1000:.5f}"
        return f"Step {i}/{N}\n{told}" if i % every == 0 else told

    found = exported(tmp_path / "train.log", line, capsys)
    assert {i: row["reward_mean"] for i, row in found.items()} == {i: pytest.approx(i / 100) for i in range(1, N + 1)}
