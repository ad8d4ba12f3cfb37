"""Dicts of metrics that a trainer sets out on several lines: no cell is lost, and other dicts are no metrics."""

from __future__ import annotations

import json
import pprint
from collections.abc import Callable
from itertools import repeat
from pathlib import Path

import pytest

from tests.unit.position.reports import reward
from tests.unit.readers.reading import read
from tests.unit.session.runs import content, opened

Cells = dict[str, float]
STEPS = range(1, 41)


def cells_of(step: int) -> Cells:
    names = ("actor/entropy", "actor/grad_norm", "critic/rewards/mean", "response_length/mean", "actor/pg_loss")
    return {name: round(reward(step) * (i + 1), 6) for i, name in enumerate(names)}


def with_step(step: int, cells: Cells) -> dict[str, float]:
    return {"global_step": step, **cells}


STYLES: dict[str, Callable[[int, Cells], str]] = {
    "pprint": lambda s, cells: pprint.pformat(with_step(s, cells)),
    "pprint below a heading": lambda s, cells: f"metrics at step {s}:\n{pprint.pformat(cells)}",
    "pprint behind Ray's prefix": lambda s, cells: "\n".join(
        f"(TaskRunner pid=71) {line}" for line in pprint.pformat(with_step(s, cells)).splitlines()
    ),
    "indented": lambda s, cells: json.dumps(with_step(s, cells), indent=2),
    "indented behind a time": lambda s, cells: (
        f"2026-03-01 10:{s:02}:00,123 INFO trainer: {json.dumps(with_step(s, cells), indent=4)}"
    ),
    "indented below a heading": lambda s, cells: f"=== [driver] - METRICS STEP {s} ===\n{json.dumps(cells, indent=1)}",
    "one line below a heading": lambda s, cells: f"--- Step {s} ---\n{cells}",
}
BETWEEN = "{\n  \"answer\": 7,\n  \"confidence\": 0.5\n}\nQuestion: {'a': 1,\n  'b': 2}\nif (x) {\n  return 3;\n}\n"
"""What a completion may hold."""


@pytest.mark.parametrize("style", STYLES)
def test_no_cell_is_lost(style: str, tmp_path: Path) -> None:
    text = "".join(STYLES[style](step, cells_of(step)) + "\n" for step in STEPS)
    (tmp_path / "train.log").write_text(text)
    assert content(opened(tmp_path / "train.log")) == {step: pytest.approx(cells_of(step)) for step in STEPS}


@pytest.mark.parametrize("style", STYLES)
def test_completions_between_them_are_no_metrics(style: str, tmp_path: Path) -> None:
    text = "ready\n" + "".join(BETWEEN + STYLES[style](step, cells_of(step)) + "\n" for step in STEPS)
    (tmp_path / "train.log").write_text(text)
    assert content(opened(tmp_path / "train.log")) == {step: pytest.approx(cells_of(step)) for step in STEPS}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_any_cutting_gives_the_same(style: str, size: int) -> None:
    data = "".join(STYLES[style](step, cells_of(step)) + "\n" for step in STEPS).encode()
    whole = read("console", data)
    pieces = read("console", data, repeat(size, len(data) // size))
    assert pieces.rows == whole.rows
    assert len(whole.rows) == len(STEPS)


def test_objects_within_keep_the_names_around_them_where_theirs_come_twice(tmp_path: Path) -> None:
    def row(step: int) -> dict[str, object]:
        return {"step": step, "rewards": {"mean": reward(step), "std": 0.5}, "kl": {"mean": 0.1, "max": 0.2}}

    (tmp_path / "train.log").write_text("ready\n" + "".join(json.dumps(row(s), indent=2) + "\n" for s in STEPS))
    found = content(opened(tmp_path / "train.log"))
    expected = {"rewards/std": 0.5, "kl/mean": 0.1, "kl/max": 0.2}
    assert found == {s: pytest.approx({**expected, "rewards/mean": reward(s)}) for s in STEPS}
