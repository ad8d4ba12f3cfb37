"""Shapes of logs as people paste them: several dicts in a line, names of many words, a sample quoted in a step line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reading import read
from tests.unit.session.runs import content, opened

STEPS = 40


def _rows(tmp_path: Path, text: str) -> dict[int, dict[str, float]]:
    path = tmp_path / "train.log"
    path.write_text(text, encoding="utf-8")
    return content(opened(path))


def _dict(step: int) -> str:
    cells = {"loss": step / 100, "grad_norm": 0.5, "reward": step / 50, "memory(GiB)": 69.19, "epoch": step / STEPS}
    return str(cells | {"global_step/max_steps": f"{step}/{STEPS}", "elapsed_time": f"{step}m 51s"})


@pytest.mark.parametrize("between", [" ", "", "\n"])
@pytest.mark.parametrize("size", [0, 7, 100])
def test_each_dict_of_a_line_is_a_row(between: str, size: int) -> None:
    text = between.join(_dict(step) for step in range(1, STEPS + 1)) + "\n"
    found = read("trl-console", text, [size] * (len(text) // size) if size else [])
    told = [(step, cells["loss"], cells["reward"]) for step, cells in found.rows]
    assert told == [(step, step / 100, step / 50) for step in range(1, STEPS + 1)]


def test_dicts_that_a_terminal_broke_at_its_width(tmp_path: Path) -> None:
    whole = [_dict(step) for step in range(1, STEPS + 1)]
    lines = [line[at : at + 80] for line in whole for at in range(0, len(line), 80)]
    found = _rows(tmp_path, "\n".join(lines) + "\n")
    assert {step: cells["loss"] for step, cells in found.items()} == {n: n / 100 for n in range(1, STEPS + 1)}


def test_names_of_many_words_in_an_aligned_block(tmp_path: Path) -> None:
    block = """********** Iteration {n} ************
Total number of episodes:                 1{n}
KL between old and new distribution:      0.0{n}
Entropy:                                  1.5
Average sum of rewards per episode:       -0.{n}
Baseline explained:                       0.25
"""
    found = _rows(tmp_path, "".join(block.format(n=n) for n in range(10, 50)))
    assert found == {
        n: {
            "Total number of episodes": float(f"1{n}"),
            "KL between old and new distribution": float(f"0.0{n}"),
            "Entropy": 1.5,
            "Average sum of rewards per episode": -float(f"0.{n}"),
            "Baseline explained": 0.25,
        }
        for n in range(10, 50)
    }


QUOTED = (
    "step={n} loss=0.{n} reward_mean=0.25 completion=' about {n}. 7.8 versus Kazakhstan 421563'",
    'Step {n} | loss: 0.{n} | reward_mean: 0.25 | answer: "it is 3 eggs at $ {n}"',
    "[{n}/50] loss=0.{n}, reward_mean=0.25, sample='kl 3 reward 9 loss {n}'",
)


@pytest.mark.parametrize("line", QUOTED)
def test_numbers_of_a_quoted_text_are_no_metrics(tmp_path: Path, line: str) -> None:
    found = _rows(tmp_path, "".join(line.format(n=n) + "\n" for n in range(10, 50)))
    assert found == {n: {"loss": float(f"0.{n}"), "reward_mean": 0.25} for n in range(10, 50)}


def test_the_message_of_a_logger_is_no_quoted_text(tmp_path: Path) -> None:
    line = 'time=2025-03-04T11:00:{n}Z level=info msg="step {n} loss 0.{n} reward 0.25"\n'
    found = _rows(tmp_path, "".join(line.format(n=n) for n in range(10, 50)))
    assert found == {n: {"loss": float(f"0.{n}"), "reward": 0.25} for n in range(10, 50)}
