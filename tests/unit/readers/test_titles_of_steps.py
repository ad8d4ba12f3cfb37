"""Titles that name the step of the numbers below, among other words."""

from __future__ import annotations

import pytest

from rltui.readers.base import Hint
from tests.unit.readers.reading import read

N = 7


def told(head: str, below: str) -> list[tuple[int, dict[str, float | None]]]:
    text = "".join(head.format(i=i) + "\n" + below.format(x=f"0.{i}5") + "\n" for i in range(1, N + 1))
    rows: dict[int, dict[str, float | None]] = {}
    for step, cells in read("console", text).rows:
        rows[step] = rows.get(step, {}) | cells
    return list(rows.items())


@pytest.mark.parametrize(
    "head",
    [
        "[Update {i}] Summary:",
        "[Update {i}/90] Results",
        "[Step {i}] Training metrics:",
        "=== POLICY REPORT (Step {i}) ===",
        "---- Numbers of training [iter {i}] ----",
        "2026-03-01 10:00:0{i},000 - loop - INFO - === REWARDS AND KL (step {i}/90) ===",
        "Training report (step {i}):",
    ],
)
def test_a_count_among_words(head: str) -> None:
    lead = "2026-03-01 10:00:09,000 - loop - INFO - " if "INFO" in head else "  "
    rows = told(head, f"{lead}reward: {{x}}\n{lead}policy loss: 0.5")
    assert rows == [(i, {"reward": float(f"0.{i}5"), "policy loss": 0.5}) for i in range(1, N + 1)]


@pytest.mark.parametrize(
    "head",
    [
        "Saved a checkpoint (step {i})",  # no title
        "--- Sample (step {i}) ---",
        "=== Question [step {i}] ===",
        "=== EVALUATION (Step {i}) ===",
    ],
)
def test_other_lines_with_a_count(head: str) -> None:
    assert told(head, "reward: {x}\nloss: 0.5") == []


@pytest.mark.parametrize("label", ["NEW METRICS: ", "metrics: ", "Stats: ", "💡 Learned: "])
def test_a_dict_behind_a_label(label: str) -> None:
    rows = told("Iteration {i}/90", label + "{{'train/reward': {x}, 'train/kl': 0.5}}")
    assert rows == [(i, {"train/reward": float(f"0.{i}5"), "train/kl": 0.5}) for i in range(1, N + 1)]


@pytest.mark.parametrize("said", ["CPU: 31.0%, Memory: 44.1%", "Prompt: 'Of 12 apples 3.5 reward you'"])
def test_other_lines_in_a_block(said: str) -> None:
    rows = told("=== REPORT (Step {i}) ===", said + "\nReward: {x}\nLoss: 0.5\n")
    cells = {"CPU": 0.31, "Memory": 0.441} if "CPU" in said else {}
    assert rows == [(i, {"Reward": float(f"0.{i}5"), "Loss": 0.5} | cells) for i in range(1, N + 1)]


def hint(text: str) -> str:
    return next((record.text for record in read("console", text).reader.finish() if isinstance(record, Hint)), "")


def test_no_pattern_is_suggested_that_reads_the_step_alone() -> None:
    assert hint("".join(f"Look {i}/90\n" for i in range(1, N + 1))) == ""
    beside = "".join(f"Look {i}/90\nso good was it: 0.{i}5, {i * i}\n" for i in range(1, N + 1))
    assert "{it}" in hint(beside)


def test_a_few_lines_that_differ_in_a_version_are_no_steps() -> None:
    """Nor if they stand in a list of packages; many lines are, though no number of theirs counts."""
    assert hint("".join(f'"Runs on :: Linux :: {version}",\n' for version in ("5.15", "6.1", "6.6", "6.12"))) == ""
    assert "{it}" in hint("".join(f"so good was it :: {0.3 + i % 3 / 10:.2f},\n" for i in range(3 * N)))
