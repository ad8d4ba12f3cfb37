"""JSON rows whose metric, step or flag is in an object of its own, through the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reported import ends, reported
from tests.unit.session.runs import content, opened

STEPS = range(1, 31)
Row = dict[str, Any]
ONE_EACH: dict[str, Callable[[str, float, int], Row]] = {
    "an object of name and value": lambda k, x, n: {"metric": {"name": k, "value": x}, "step": n},
    "as data": lambda k, x, n: {"step": n, "data": {"name": k, "value": x}},
    "as a payload": lambda k, x, n: {"type": "scalar", "step": n, "payload": {"key": k, "value": x}},
    "with its step": lambda k, x, n: {"ts": 1.7e9 + n, "data": {"tag": k, "value": x, "step": n}},
    "two deep": lambda k, x, n: {"event": {"data": {"name": k, "value": x, "step": n}}},
    "the name alone": lambda k, x, n: {"metric": {"name": k, "unit": "none"}, "value": x, "step": n},
    "of a logger": lambda k, x, n: {"level": "info", "msg": "metric", "metric": {"name": k, "value": x, "step": n}},
}
ALL_AT_ONCE: dict[str, Callable[[Row, int], Row]] = {
    "objects by name": lambda row, n: {"step": n, **{f"m{i}": {"name": k, "value": row[k]} for i, k in enumerate(row)}},
    "a list": lambda row, n: {"payload": {"step": n, "metrics": [{"name": k, "value": x} for k, x in row.items()]}},
    "cells of a payload": lambda row, n: {"step": n, "payload": row},
    "cells in a payload with the step": lambda row, n: {"kind": "train", "payload": {"step": n, "metrics": row}},
    "cells of a record": lambda row, n: {"record": {"step": n, "fields": row}},
}


def measured(n: int) -> dict[str, float]:
    return {"reward": n / 64, "kl": n / 128}


def lines(rows: list[Row]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def is_whole(path: Path) -> None:
    report = reported(path)
    assert set(report["metrics"]) == {"reward_mean", "kl_ref"}
    assert ends(report, "reward_mean") == (len(STEPS), 1 / 64, 30 / 64)
    assert ends(report, "kl_ref") == (len(STEPS), 1 / 128, 30 / 128)
    assert report["run"]["steps"]["last"] == STEPS[-1]
    assert list(content(opened(path))) == list(STEPS)


@pytest.mark.parametrize("form", ONE_EACH)
def test_a_metric_a_row(form: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(lines([ONE_EACH[form](k, x, n) for n in STEPS for k, x in measured(n).items()]))
    is_whole(path)


@pytest.mark.parametrize("form", ALL_AT_ONCE)
def test_a_step_a_row(form: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(lines([ALL_AT_ONCE[form](measured(n), n) for n in STEPS]))
    is_whole(path)


def test_rows_of_the_same_keys_need_not_be_alike(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    rows = [[{"step": n, "data": measured(n)}, {"step": n, "data": {"name": "lr", "value": 1e-6}}] for n in STEPS]
    path.write_text(lines([row for both in rows for row in both]))
    assert content(opened(path)) == {n: measured(n) | {"lr": 1e-6} for n in STEPS}


def test_an_object_beside_the_numbers_of_a_row_is_a_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(lines([{"step": n, **measured(n), "optimizer": {"name": "adam", "value": 3}} for n in STEPS]))
    found = content(opened(path))
    assert found == {n: measured(n) | {"optimizer/value": 3.0} for n in STEPS}


@pytest.mark.parametrize(
    "row",
    [
        lambda n: {"eval": {"step": n, "accuracy": n / 80}},
        lambda n: {"payload": {"split": "eval", "step": n, "accuracy": n / 80}},
        lambda n: {"split": "eval", "metric": {"name": "accuracy", "value": n / 80}, "step": n},
    ],
)
def test_what_says_that_a_row_is_of_an_evaluation(row: Callable[[int], Row], tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(lines([each for n in STEPS for each in ({"train": {"step": n, **measured(n)}}, row(n))]))
    assert content(opened(path)) == {n: measured(n) | {"eval/accuracy": n / 80} for n in STEPS}
