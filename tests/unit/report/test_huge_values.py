"""Values near the greatest that a number holds: their sums overflow, the commands do not."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.cli import main

GREATEST = 1.7e308
HUGE = {
    "signs by turns": lambda i, _: (-1) ** i * GREATEST,
    "all of one sign": lambda i, _: GREATEST,
    "now and then": lambda i, _: GREATEST if i % 7 == 0 else 0.5,
    "after a while": lambda i, _: GREATEST if i > 60 else 0.5,
    "of every size": lambda i, chance: 10.0 ** chance.uniform(-300, 308),
}
NAMES = ("reward", "reward_std", "entropy", "grad_norm", "kl", "loss", "step_time", "clip_ratio", "eval_reward")
LENGTHS = ("completions/mean_length", "completions/clipped_ratio", "frac_reward_zero_std")


def write(folder: Path, kind: str) -> Path:
    """Each metric in its turn: the others behave."""
    chance, value = random.Random(kind), HUGE[kind]
    folder.mkdir()
    names = [*NAMES, *LENGTHS]
    with (folder / "metrics.jsonl").open("w") as file:
        for i in range(1, 121):
            row = {"step": i, **{name: value(i + len(name), chance) for name in names}}
            file.write(json.dumps(row) + "\n")
    (folder / "config.json").write_text(json.dumps({"max_steps": 400, "num_generations": 8, "loss_type": "grpo"}))
    return folder


@pytest.fixture
def commands(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Exit code and standard error of commands, one after the other, with every warning an error, as a strict user of
    Python runs them."""

    def run(*each: list[str]) -> tuple[int, str]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ResourceWarning)  # of what tests before this one left open
            code = max(main(words) for words in each)
        return code, capsys.readouterr().err

    return run


@pytest.mark.parametrize("kind", HUGE)
def test_nothing_but_the_report_is_written(kind: str, tmp_path: Path, commands: Callable[..., tuple[int, str]]) -> None:
    path, out = str(write(tmp_path / "run", kind)), tmp_path / "report.json"
    assert commands(["report", path, "--format", "json", "--output", str(out)], ["report", path]) == (0, "")
    assert json.loads(out.read_text())["checks_failed"] == []


@pytest.mark.long
def test_such_runs_are_compared(tmp_path: Path, commands: Callable[..., tuple[int, str]]) -> None:
    paths = [str(write(tmp_path / kind.replace(" ", "-"), kind)) for kind in HUGE]
    assert commands(["compare", *paths]) == (0, "")
