"""Messages of rich's handler in a narrow terminal: a name longer than the column of messages is broken within."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reading import read
from tests.unit.session.runs import content, opened

NAME = "rewards/the_accuracy_reward_of_all_math_problems/mean"


def _wrapped(message: str, width: int) -> list[str]:
    """The lines into which rich wraps a message: at blanks, and within words that are longer than a line."""
    lines: list[str] = []
    for word in message.split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines += [word[at : at + width] for at in range(0, len(word), width)]
    return lines


def _log(width: int, place: bool) -> str:
    out = []
    for step in range(10, 50):
        for at, text in enumerate(_wrapped(f"Step {step} | loss: 0.{step} | {NAME}: 0.25 | kl: 0.0{step}", width)):
            before = f"[11:{step}:07] INFO     " if at == 0 else " " * 20
            behind = "" if not place else " train.py:88" if at == 0 else " " * 12
            out.append(f"{before}{text:<{width}}{behind}\n")
    return "".join(out)


@pytest.mark.parametrize("width", [24, 30, 40, 47, 53, 60, 100])
@pytest.mark.parametrize("place", [True, False], ids=["place", "no place"])
def test_a_name_that_is_broken_is_whole_again(tmp_path: Path, width: int, place: bool) -> None:
    path = tmp_path / "train.log"
    path.write_text(_log(width, place))
    wanted = {n: {"loss": float(f"0.{n}"), NAME: 0.25, "kl": float(f"0.0{n}")} for n in range(10, 50)}
    assert content(opened(path)) == wanted


@pytest.mark.parametrize("size", [1, 13, 100])
def test_pieces_of_the_log_give_the_same(size: int) -> None:
    text = _log(40, place=True)
    assert read("console", text, [size] * (len(text) // size)).rows == read("console", text).rows
