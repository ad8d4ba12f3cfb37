"""Bars of an evaluation among those of a training, in logs that are stored without the codes of a terminal: they began
another training for the reader, so that rows got steps of others or were lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reading import read
from tests.unit.readers.reported import reported
from tests.unit.session.runs import content, opened

CLEARED = "\r" + " " * 80 + "\r"
UP = "\x1b[A"
END = 10**6


def bar(done: int, total: int) -> str:
    return f"\r{100 * done // total:3d}%|{'█' * (10 * done // total):<10}| {done}/{total} [00:01<00:09, 21.7it/s]"


def line(step: int) -> str:
    return f"{{'loss': {1 / step:.5f}, 'grad_norm': {step / 7:.4f}, 'epoch': {step / 100:.2f}}}\n"


def evaluated(step: int) -> str:
    return f"{{'eval_loss': {2 / step:.5f}, 'eval_runtime': 2.0, 'epoch': {step / 100:.2f}}}\n"


def log(
    every: int, burst: int, total: int = 200, last: int = 200, first: int = 1, clears: bool = True, up: str = ""
) -> str:
    """Each 50 steps an evaluation of 8 batches; what is printed comes each `burst` steps, and at the end."""
    text, waiting = bar(first - 1, total), ""
    for step in range(first, last + 1):
        text += bar(step, total)
        if step % every == 0:
            text += CLEARED + bar(step, total) if clears else ""
            waiting += line(step)
        if step % 50 == 0:
            text += "".join("\n" + bar(done, 8) + up for done in (0, 4, 8))
            text += CLEARED + "\n" + CLEARED + up + bar(step, total) + "\n" + bar(8, 8) + up if clears else ""
            waiting += evaluated(step)
        if step % burst == 0:
            text, waiting = text + waiting, ""
    return text + "\n" + waiting


def steps(text: str, name: str) -> list[int]:
    return [step for step, cells in read("trl-console", text).rows if name in cells]


@pytest.mark.parametrize("every", [1, 5, 10])
@pytest.mark.parametrize("burst", [37, 50, 110, END])
@pytest.mark.parametrize("up", ["", UP], ids=["stored", "printed"])
def test_rows_that_come_late_are_at_their_steps(every: int, burst: int, up: str) -> None:
    text = log(every, burst, up=up)
    assert steps(text, "loss") == list(range(every, 201, every))
    assert steps(text, "eval_loss") == [50, 100, 150, 200]


@pytest.mark.parametrize("burst", [1, 37, 50, 110, END])
@pytest.mark.parametrize("every", [5, 10])
@pytest.mark.parametrize("first", [False, True], ids=["", "first"])
@pytest.mark.parametrize("last", [200, 123])
def test_bars_that_are_not_cleared(burst: int, every: int, first: bool, last: int, tmp_path: Path) -> None:
    """Where a loop prints its dicts itself. A step is told only if it is the true one: more lines may come after the
    last bar, and the first step may have a line too."""
    text = log(every, burst, last=last, clears=False)
    if first:
        text = text.replace(bar(2, 200), "\n" + line(1) + bar(2, 200), 1)
    if last == 200:
        text += "{'train_runtime': 400.0, 'train_steps_per_second': 0.5, 'train_loss': 0.1, 'epoch': 2.0}\n"
    (tmp_path / "train.log").write_text(text)
    told = reported(tmp_path)
    run, rows = told["run"], last // every + first
    assert told["metrics"]["total_loss"]["count"] == rows
    assert run["steps"]["total"] == 200
    found = [step for step, cells in content(opened(tmp_path)).items() if "loss" in cells]
    true = [1] * first + list(range(every, last + 1, every))
    assert found == true or (found == list(range(1, rows + 1)) and last < 200)


@pytest.mark.parametrize("total", [120, 500])
@pytest.mark.parametrize("burst", [1, END])
def test_another_training_of_another_length(total: int, burst: int) -> None:
    """Nothing tells that it began but its bar and its lines."""
    text = log(5, 1, last=80) + "\n" + log(5, burst, total, last=100)
    assert steps(text, "loss") == [*range(5, 81, 5), *range(5, 101, 5)]
