"""Blocks below a title that comes again and again and names no step: they are counted, and that is said."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.unit.readers.reading import read
from tests.unit.readers.reported import refused, reported
from tests.unit.session.runs import content, opened

STEPS = 30
BLOCKS = {
    "rule": "##### Training metrics #####\nloss: 0.{n}\nmean reward: 0.25\nkl: 0.0{n}\n\n",
    "box": "╭──── train ────╮\n│ loss     0.{n} │\n│ mean reward   0.25 │\n│ kl      0.0{n} │\n╰───────────────╯\n",
    "equal signs": "=== Update ===\nloss = 0.{n}\nmean reward = 0.25\nkl = 0.0{n}\n",
    "others between": "--- metrics ---\nloss: 0.{n} | mean reward: 0.25 | kl: 0.0{n}\nsaving nothing today\n",
}
TWO = "=== Rollout ===\nmean reward: 0.25\nmean length: 31{n}\n=== Update ===\nloss: 0.{n}\nkl: 0.0{n}\n"


def _log(block: str, steps: range = range(10, 10 + STEPS)) -> str:
    return "Loading the model\n" + "".join(block.format(n=n) for n in steps)


def _read(tmp_path: Path, text: str) -> dict[int, dict[str, float]]:
    path = tmp_path / "train.log"
    path.write_text(text, encoding="utf-8")
    return content(opened(path))


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_they_are_counted_and_said_to_be(block: str, tmp_path: Path) -> None:
    found = _read(tmp_path, _log(block))
    assert found == {
        n - 9: {"loss": float(f"0.{n}"), "mean reward": 0.25, "kl": float(f"0.0{n}")} for n in range(10, 10 + STEPS)
    }
    assert reported(tmp_path / "train.log")["run"]["rows_counted"]


def test_blocks_below_other_titles_belong_to_the_step_of_the_first(tmp_path: Path) -> None:
    found = _read(tmp_path, _log(TWO))
    assert found == {
        n - 9: {"mean reward": 0.25, "mean length": float(f"31{n}"), "loss": float(f"0.{n}"), "kl": float(f"0.0{n}")}
        for n in range(10, 10 + STEPS)
    }


@pytest.mark.parametrize("block", [BLOCKS["rule"], BLOCKS["box"], TWO], ids=["rule", "box", "two"])
def test_pieces_of_the_log_give_the_same(block: str) -> None:
    data = _log(block).encode()
    whole = read("console", data).rows
    sizes = [random.randint(1, 60) for _ in range(200)]
    told: dict[int, dict[str, float | None]] = {}
    for step, cells in read("console", data, sizes).rows:
        told.setdefault(step, {}).update(cells)
    wanted: dict[int, dict[str, float | None]] = {}
    for step, cells in whole:
        wanted.setdefault(step, {}).update(cells)
    assert told == wanted
    assert len(told) == STEPS


def test_few_blocks_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(_log(BLOCKS["rule"], range(10, 14)))
    assert "no training log recognised" in refused(path)


def test_a_step_that_the_blocks_name_is_the_step(tmp_path: Path) -> None:
    named = _read(tmp_path, _log("### Metrics ###\nstep: {n}\nloss: 0.{n}\nkl: 0.0{n}\n\n"))
    assert list(named) == list(range(10, 10 + STEPS))
    below = _read(tmp_path, _log("### Metrics ###\nloss: 0.{n}\nkl: 0.0{n}\nfinished step {n} of 99\n", range(1, 31)))
    assert list(below) == list(range(1, 31))
    assert [cells["loss"] for cells in below.values()] == [float(f"0.{n}") for n in range(1, 31)]


OTHER_TITLES = (
    "=== Config ===\nlr: 1e-6\nbatch size: 128\nkl coef: 0.{n}\n",
    "=== Trial ===\nloss: 0.{n}\nreward: 0.{n}\n",
    "=== Evaluation ===\naccuracy: 0.{n}\nreward: 0.{n}\n",
)


@pytest.mark.parametrize("block", OTHER_TITLES)
def test_what_is_set_and_results_of_whole_trainings_are_no_steps(block: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(_log(block))
    assert "no training log recognised" in refused(path)


@pytest.mark.parametrize("head", ["[{n}/50]", "--- {n}/50 ---", "({n}/50)", "{n}/50"])
@pytest.mark.parametrize("below", ["loss: 0.{n}\nkl: 0.25", "  loss 0.{n} | kl 0.25", "{{'loss': 0.{n}, 'kl': 0.25}}"])
def test_a_count_alone_in_its_line_is_a_heading(head: str, below: str, tmp_path: Path) -> None:
    found = _read(tmp_path, _log(f"{head}\n{below}\n"))
    assert found == {n: {"loss": float(f"0.{n}"), "kl": 0.25} for n in range(10, 10 + STEPS)}


def test_such_a_count_below_a_step_is_a_part_of_it(tmp_path: Path) -> None:
    parts = "".join(f"[{k}/4]\nloss 0.{k}{{n}}\nreward 0.5\n" for k in range(1, 5))
    found = _read(tmp_path, _log("Step {n}\n" + parts + "mean loss 0.{n} mean reward 0.25\n"))
    assert list(found) == list(range(10, 10 + STEPS))
