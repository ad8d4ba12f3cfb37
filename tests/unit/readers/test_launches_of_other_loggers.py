"""A later launch may be appended to a log by another logger: what was learnt of the first one does not tell how its
lines are to be read, and none of its rows may be lost in silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.session import run_reader
from tests.unit.readers.reading import Cells, read
from tests.unit.readers.test_followed_as_read_whole import even, followed, lines, whole

EARLY, LATE = 30, 24


def loss(i: int, launch: int) -> float:
    return round(1.3 - 0.0123 * i + 0.2 * launch + 0.01 * (i % 3), 4)


def reward(i: int, launch: int) -> float:
    return round(0.125 + 0.0171 * i - 0.04 * launch, 4)


LOGGERS: dict[str, Callable[[int, int], str]] = {
    "verl": lambda i, of: (
        f"(TaskRunner pid=991) step:{i} - actor/pg_loss:{loss(i, of)} - critic/rewards/mean:{reward(i, of)}\n"
    ),
    "dicts": lambda i, of: f"{{'step': {i}, 'loss': {loss(i, of)}, 'reward': {reward(i, of)}}}\n",
    "json": lambda i, of: json.dumps({"step": i, "train/loss": loss(i, of), "train/reward": reward(i, of)}) + "\n",
    "lines": lambda i, of: f"step {i} | loss {loss(i, of)} | reward {reward(i, of)}\n",
    "counted lines": lambda i, of: f"[{i}/60] loss={loss(i, of)}, reward={reward(i, of)}\n",
    "headings": lambda i, of: f"===== Step {i}/60 =====\n  Loss: {loss(i, of)}\n  Reward: {reward(i, of)}\n",
    "boxes": lambda i, of: (
        f"┌────────┬────────┐\n│ step   │ {i} │\n│ loss   │ {loss(i, of)} │\n│ reward │ {reward(i, of)} │\n"
        "└────────┴────────┘\n"
    ),
}
PAIRS = [
    ("verl", "dicts"),
    ("verl", "lines"),
    ("verl", "headings"),
    ("verl", "json"),
    ("verl", "counted lines"),
    ("lines", "verl"),
    ("lines", "dicts"),
    ("lines", "boxes"),
    ("counted lines", "lines"),
    ("boxes", "lines"),
]


def log(early: str, late: str, first: int, between: str = "") -> bytes:
    text = "".join(LOGGERS[early](i, 0) for i in range(1, EARLY + 1)) + between
    return (text + "".join(LOGGERS[late](i, 1) for i in range(first, first + LATE))).encode()


def lost(rows: list[tuple[int, Cells]], first: int) -> list[int]:
    """The steps of the later launch that no row has the values of."""
    found: dict[int, set[float | None]] = {}
    for step, cells in rows:
        found.setdefault(step, set()).update(cells.values())
    return [i for i in range(first, first + LATE) if not {loss(i, 1), reward(i, 1)} <= found.get(i, set())]


@pytest.mark.parametrize("first", [1, 21])
@pytest.mark.parametrize(("early", "late"), PAIRS)
def test_no_row_of_another_launch_is_lost(
    early: str, late: str, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_reader, "REST_S", -1.0)
    data = log(early, late, first)
    assert lost(read("console", data).rows, first) == []
    expected = whole(tmp_path / "whole.log", data)
    values = {step: {x for (at, _), x in expected[0].items() if at == step} for step in range(first, first + LATE)}
    assert [i for i, held in values.items() if not {loss(i, 1), reward(i, 1)} <= held] == []
    for cut in (lines, even):
        assert followed(tmp_path / f"{cut.__name__}.log", cut(data), quiet=cut is lines) == expected, cut.__name__


def test_a_launch_that_begins_with_pages_of_other_lines_is_read() -> None:
    """The lines that a program prints as it starts, many more than came between two rows before."""
    start = "".join(f"loading weights of layer {i} of block {i % 7}, {i * 13} bytes\n" for i in range(1500))
    for sizes in ([], [700] * 400):
        found = read("console", log("verl", "lines", 1, start), sizes)
        assert lost(found.rows, 1) == [], len(sizes)


def test_what_a_log_prints_between_its_rows_is_no_launch() -> None:
    """The known rows come again: what counted inside a step is none of the steps."""
    inner = "".join(f"rollout step {i}: reward {0.5 + i / 100}, length {100 + i}\n" for i in range(1, 7))
    data = "".join(LOGGERS["verl"](i, 0) + inner for i in range(1, 21)).encode()
    for sizes in ([], [211] * (len(data) // 211)):
        found = read("console", data, sizes)
        assert found.steps == list(range(1, 21))
