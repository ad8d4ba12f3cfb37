"""Answers that another logger of the program shows, and that number their steps as trainings do, are no steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.session.runs import content, opened

N = 40
Lead = Callable[[int, str, str], str]
LEADS: dict[str, Lead] = {
    "loguru": lambda i, who, text: f"2026-11-20 10:00:{i:02}.123 | INFO     | trainer.{who}:run:12 - {text}\n",
    "hydra": lambda i, who, text: f"[2026-11-20 10:00:{i:02},001][src.{who}][INFO] - {text}\n",
    "basic": lambda i, who, text: f"INFO:{who}:{text}\n",
}
ANSWERS = ("Step 2: subtract 6, reward: 30.", "Step 3: loss 4, apples 12")


def log(lead: Lead, first: int, last: int, answers: tuple[str, ...] = (), shift: float = 0.0) -> str:
    lines = []
    for i in range(first, last + 1):
        lines.append(lead(i, "loop", f"step={i} loss={1 / i:.4f} reward={i / 64 + shift}"))
        if i % 7 == 0:
            lines += [lead(i, "sample", text) for text in answers]
    return "".join(lines)


@pytest.mark.parametrize("lead", LEADS)
def test_the_steps_of_an_answer_overwrite_none(lead: str, tmp_path: Path) -> None:
    (path := tmp_path / "run.log").write_text(log(LEADS[lead], 1, N, ANSWERS))
    assert {step: row["reward"] for step, row in content(opened(path)).items()} == {i: i / 64 for i in range(1, N + 1)}


@pytest.mark.parametrize("lead", LEADS)
def test_a_launch_in_the_same_file_goes_back(lead: str, tmp_path: Path) -> None:
    """The near miss: the same names at earlier steps, of the same logger, are steps that were made again."""
    again = log(LEADS[lead], 21, N, shift=1)
    (path := tmp_path / "run.log").write_text(log(LEADS[lead], 1, 30) + again)
    run = opened(path)
    assert {step: row["reward"] for step, row in content(run).items()} == {
        i: i / 64 + (i > 20) for i in range(1, N + 1)
    }
    assert run.run.history.table.restarts == [21]
