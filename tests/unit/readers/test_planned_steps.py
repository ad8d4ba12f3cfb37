"""TRL's lines without a bar: what the trainer says of all its steps tells how far apart they are."""

from __future__ import annotations

import json
from math import nan
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.readers.console.planned_steps import Plan, plan_at_end, steps_of

BANNER = (
    "***** Running training *****\n  Num examples = 1,000\n  Num Epochs = 2\n  Total optimization steps = {total}\n"
)
UNSLOTH = (
    "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1\n"
    "   \\\\   /|    Num examples = 500 | Num Epochs = 2 | Total steps = {total}\n"
)
END = (
    "{{'train_runtime': {time}, 'train_samples_per_second': 3.2, 'train_steps_per_second': {rate}, "
    "'train_loss': 0.25, 'epoch': 2.0}}\n"
)


def line(step: int, total: int, quoted: bool) -> str:
    cells = {
        "loss": round(1.5 - step / total, 4),
        "reward": round(step / total, 4),
        "epoch": round(2 * step / total, 2),
    }
    return str({key: str(x) for key, x in cells.items()} if quoted else cells) + "\n"


def steps(tmp_path: Path, text: str) -> list[int]:
    """The steps of a log; each row's reward says which it is of."""
    log, out = tmp_path / "train.log", tmp_path / "rows.jsonl"
    log.write_text(text)
    assert main(["export", str(log), "--output", str(out)]) == 0
    return [json.loads(row)["step"] for row in out.read_text().splitlines()]


@pytest.mark.parametrize("quoted", [True, False])
@pytest.mark.parametrize("apart", [1, 5, 10, 25])
@pytest.mark.parametrize("said", ["at its end", "as it begins", "by another name"])
def test_lines_without_a_bar(said: str, apart: int, quoted: bool, tmp_path: Path) -> None:
    total = 40 * apart + apart // 2
    wanted = list(range(apart, total + 1, apart))
    text = {"as it begins": BANNER, "by another name": UNSLOTH}.get(said, "").format(total=total)
    text += "".join(line(step, total, quoted) for step in wanted)
    if said == "at its end":
        text += END.format(time=total * 3.7, rate=round(1 / 3.7, 3))
    assert steps(tmp_path, text) == wanted


@pytest.mark.parametrize("apart", [1, 5])
@pytest.mark.parametrize("resumed", [0, 24])
def test_a_launch_behind_one_that_ended_begins_anew(apart: int, resumed: int, tmp_path: Path) -> None:
    total = 40 * apart
    wanted = list(range(apart, total + 1, apart))
    end = END.format(time=total * 3.7, rate=round(1 / 3.7, 3))
    first = "".join(line(step, total, False) for step in wanted)
    second = "".join(line(step, total, False).replace("'loss': ", "'loss': 1") for step in wanted[resumed:])
    assert steps(tmp_path, first + end + second + end) == wanted


def test_the_first_step_too(tmp_path: Path) -> None:
    wanted = [1, *range(10, 201, 10)]
    text = "".join(line(step, 200, False) for step in wanted) + END.format(time=400.0, rate=0.5)
    assert steps(tmp_path, text) == wanted


def test_what_nothing_tells_is_counted(tmp_path: Path) -> None:
    text = "".join(line(step, 200, False) for step in range(10, 201, 10))
    assert steps(tmp_path, text) == list(range(1, 21))


def test_epochs_that_fit_no_distance() -> None:
    assert steps_of([0.1, 0.3, 0.35, 0.9], Plan(100, 100, 1.0)) is None
    assert steps_of([0.5, 1.0], Plan(100, 100, 1.0)) is None
    assert steps_of([None] * 30, Plan(300, 300, nan)) is None


def test_a_rate_that_is_too_coarse_tells_nothing() -> None:
    plan = plan_at_end({"train_runtime": 90000.0, "train_steps_per_second": 0.001, "epoch": 1.0})
    assert plan is not None
    assert steps_of([None] * 3, plan) is None
    assert plan_at_end({"train_runtime": 10.0}) is None
