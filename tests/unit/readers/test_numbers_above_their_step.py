"""Numbers above the line that states their step, with other lines between, through the command line: they are of that
step, not of the one before."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.cli import main
from tests.unit.readers.test_lines_of_home_made_loops import STEPS, steps

N = 40


def rise(i: int) -> str:
    return f"{0.2 + i / 100:.4f}"


ABOVE: dict[str, Callable[[int], str]] = {
    "words between": lambda i: f"reward: {rise(i)}\nkl: {i / 1000}\nupdate...\nloss: 0.01\nstep {i} done\n",
    "indented": lambda i: (
        f"rollout...\n  reward: {rise(i)}\n  kl: {i / 1000}\nupdate...\n  loss: 0.01\nstep {i} done\n"
    ),
    "words first": lambda i: (
        f"Collecting rollouts\nreward: {rise(i)}\nkl: {i / 1000}\nTraining\nloss: 0.01\nstep {i} done\n"
    ),
    "last words": lambda i: (
        f"Sampling 256 completions\nreward: {rise(i)}\nkl: {i / 1000}\nloss: 0.01\nSaving\nstep: {i}\n"
    ),
    "lines of numbers between": lambda i: (
        f"Input batch size: 7, Device: cuda:0\nAverage Reward: {rise(i)}\nkl: {i / 1000}\n"
        f"Iteration 1/1, Step {i}/{N}, GRPO iter 1/1, loss: 0.01\n"
    ),
}
BELOW: dict[str, Callable[[int], str]] = {
    "words between": lambda i: f"step {i} begins\nreward: {rise(i)}\nkl: {i / 1000}\nupdate...\nloss: 0.01\n",
    "a number further on": lambda i: f"Step {i}/{N}, loss: 0.01\n  reward: {rise(i)}\n  kl: {i / 1000}\nSaving\n",
}
HEADS = {
    "nothing": "",
    "a count of something else": "Iteration 1/1\nReference model created.\n",
    "settings": "lr: 1e-6\nbeta: 0.04\nbatch size: 64\nStarting\n",
}


def exported(path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> dict[int, tuple[float, float, float]]:
    path.write_text(text)
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    rows = map(json.loads, capsys.readouterr().out.splitlines())
    return {row["step"]: (row["reward_mean"], row["kl_ref"], row["total_loss"]) for row in rows}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("style", ABOVE)
def test_numbers_above(style: str, head: str, first: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = HEADS[head] + "".join(map(ABOVE[style], range(first, N)))
    found = exported(tmp_path / "train.log", text, capsys)
    assert found == {i: (float(rise(i)), i / 1000, 0.01) for i in range(first, N)}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("style", BELOW)
def test_numbers_below(style: str, head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The near miss: they look the same from the second step on."""
    found = exported(tmp_path / "train.log", HEADS[head] + "".join(map(BELOW[style], range(1, N))), capsys)
    assert found == {i: (float(rise(i)), i / 1000, 0.01) for i in range(1, N)}


ANSWER = "Sure! Step 1: compute 12 * 3 = 36.\nStep 2: subtract 6, reward: 30.\n"


@pytest.mark.parametrize("head", ["", "Resuming from step 0\n"])
@pytest.mark.parametrize("style", [style for style in ABOVE if style != "lines of numbers between"])
def test_an_answer_between_two_steps(style: str, head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It ends what stands below the step above it, and takes nothing from the step below it."""
    parts = [ABOVE[style](i) + (ANSWER if i % 7 == 0 else "") for i in range(1, N)]
    found = exported(tmp_path / "train.log", head + "".join(parts), capsys)
    assert found == {i: (float(rise(i)), i / 1000, 0.01) for i in range(1, N)}


@pytest.mark.parametrize("answer", [ANSWER, "Step 3: time 5, length 10\n"])
@pytest.mark.parametrize("at", [0, 2, 3])
def test_an_answer_before_the_steps_are_known(
    at: int, answer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that is taken for a step must not keep the blocks with the steps from being read."""
    blocks = [f"Iteration {i}:\n  reward: {rise(i)}\n  kl: {i / 1000}\n  loss: 0.01\n" for i in range(1, N)]
    found = exported(tmp_path / "train.log", "".join([*blocks[:at], answer, *blocks[at:]]), capsys)
    assert found == {i: (float(rise(i)), i / 1000, 0.01) for i in range(1, N)}


@pytest.mark.parametrize("style", [style for style in ABOVE if style != "lines of numbers between"])
def test_one_answer_among_the_first_steps(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The numbers right below it may be taken for its own, but none of a later step; the newest row may still wait."""
    parts = [ABOVE[style](i) for i in range(1, N)]
    path = tmp_path / "train.log"
    path.write_text("".join([*parts[:3], "Step 3: time 5, length 10\n", *parts[3:]]))
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    rows = {row["step"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert {i: rows[i]["reward_mean"] for i in range(5, N - 1)} == {i: float(rise(i)) for i in range(5, N - 1)}


@pytest.mark.parametrize("lead", ["", "10:00:05 ", "INFO "])
@pytest.mark.parametrize("ends", ["step {n} done", "step {n} took 12.5s", "Finished step {n}", "--- step {n} done ---"])
def test_numbers_without_a_sign_above_the_line_that_ends_their_step(ends: str, lead: str, tmp_path: Path) -> None:
    found = steps(tmp_path, f"{lead}reward {{x}}\n{lead}kl {{kl}}\n{lead}{ends}")
    assert {n: row["reward_mean"] for n, row in found.items()} == {n: n / 1000 for n in range(1, STEPS + 1)}
