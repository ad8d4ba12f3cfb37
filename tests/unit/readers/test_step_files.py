"""Loops that save one JSON file a step, through the command line and live."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.discovery.found import NotARun
from rltui.readers.base import Rows
from rltui.readers.step_files import StepFilesReader
from rltui.session.live import LiveRun
from rltui.session.locate import locate
from tests.unit.readers.reported import ends, refused, reported
from tests.unjudged import unjudged

Write = Callable[[Path, int], object]


def row(step: int) -> dict[str, Any]:
    return {"loss": 1 / step, "reward": step / 1000}


STYLES: dict[str, Write] = {
    "step in the name": lambda at, i: (at / f"step_{i:06}.json").write_text(json.dumps(row(i), indent=2)),
    "step in both": lambda at, i: (at / f"metrics_{i}.json").write_text(json.dumps({"step": i, **row(i)})),
    "metrics below a key": lambda at, i: (at / f"{i}.json").write_text(json.dumps({"step": i, "metrics": row(i)})),
    "iterations": lambda at, i: (at / f"train-iter{i}.json").write_text(json.dumps(row(i))),
}
STEPS = range(10, 310, 10)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("folder", ["", "metrics"])
def test_each_file_is_the_row_of_its_step(style: str, folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    for step in STEPS:
        STYLES[style](tmp_path / folder, step)
    report = reported(tmp_path)
    steps = report["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (10, 300, 30)
    assert ends(report, "reward_mean") == (30, 0.01, 0.3)


@pytest.mark.parametrize("name", ["rank_{}.json", "seed{}.json", "sample_{}.json", "result_{}.json"])
def test_a_number_in_a_name_that_is_no_step(name: str, tmp_path: Path) -> None:
    for i in range(1, 9):
        (tmp_path / name.format(i)).write_text(json.dumps({"step": 300, **row(300)} if i % 2 else row(i)))
    assert "no training log" in refused(tmp_path)


EVALUATED = {
    "eval/step_{}.json": {"gsm8k": 0.5, "math": 0.25, "n": 500},
    "eval/{}.json": {"gsm8k": 0.5, "math": 0.25},
    "val-iter{}.json": {"gsm8k": {"acc": 0.5}, "math": {"acc": 0.25}},
    "validation/results_step{}.json": {"scores": {"gsm8k": 0.5, "math": 0.25}},
}


@pytest.mark.parametrize(
    ("name", "count"),
    [(name, count) for name in EVALUATED for count in (2, 6) if count > 2 or "step" in name or "iter" in name],
)
def test_evaluations_in_files_of_their_own_are_validation_of_the_run_beside_them(
    name: str, count: int, tmp_path: Path
) -> None:
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps({"step": i, **row(i)}) + "\n" for i in range(1, 121)))
    for i in range(1, count + 1):
        path = tmp_path / name.format(20 * i)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(EVALUATED[name]))
    report = reported(tmp_path)
    assert (report["run"]["steps"]["first"], report["run"]["steps"]["last"]) == (1, 120)
    assert ends(report, "reward_mean")[0] == 120
    sets = {metric: told for metric, told in report["metrics"].items() if metric.startswith("val_score")}
    assert sorted(ends(report, metric) for metric in sets) == [(count, 0.25, 0.25), (count, 0.5, 0.5)], sets


def test_two_evaluations_alone_are_no_run(tmp_path: Path) -> None:
    (tmp_path / "eval").mkdir()
    for i in (20, 40):
        (tmp_path / "eval" / f"step_{i}.json").write_text(json.dumps({"gsm8k": 0.5}))
    assert "no training log" in refused(tmp_path)


@pytest.mark.parametrize("name", ["eval/rank_{}.json", "eval/item_{}.json", "eval/step_{}.json"])
def test_what_is_beside_a_run_and_no_evaluation_of_a_step(name: str, tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps({"step": i, **row(i)}) + "\n" for i in range(1, 31)))
    (tmp_path / "eval").mkdir()
    said = {"prompt": "What is 2 + 2?", "completion": "It is 4.", "score": 1.0}
    for i in range(1, 9):
        held = [said] if "item" in name else said if "step" in name else {"gsm8k": 0.5}
        (tmp_path / name.format(i)).write_text(json.dumps(held))
    report = reported(tmp_path)
    assert not [metric for metric in report["metrics"] if metric.startswith("val")]


def test_one_such_file_is_no_run(tmp_path: Path) -> None:
    STYLES["step in both"](tmp_path, 10)
    assert "no training log" in refused(tmp_path)


def test_files_that_come_while_the_run_is_followed(tmp_path: Path) -> None:
    """One is half written at first, one is written anew."""
    write = STYLES["step in the name"]
    for step in (10, 20, 30):
        write(tmp_path, step)
    with pytest.raises(NotARun):
        locate([str(tmp_path / "step_000010.json")])
    with unjudged():
        live = LiveRun(locate([str(tmp_path)])[0])
        (tmp_path / "step_000040.json").write_text('{"loss": 0.')
        while live.next_frame(0.0) is not None:
            pass
        write(tmp_path, 40)
        write(tmp_path, 50)
        (tmp_path / "step_000020.json").write_text(json.dumps({"loss": 7.0, "reward": 0.02}))
        table = live.opened.run.history.table
        for _ in range(200):
            live.next_frame(0.05)
            table = live.opened.run.history.table
            if table.steps.tolist() == [10, 20, 30, 40, 50] and table.cells(1)["loss"] == 7.0:
                break
        assert table.steps.tolist() == [10, 20, 30, 40, 50]
        assert table.cells(1)["loss"] == 7.0
        live.close()
        live.opened.close()


@given(
    st.lists(st.binary(max_size=80) | st.sampled_from([b"{", b"[1]", b'{"loss": NaN}', b'{"step": 1e400, "loss": 1}']))
)
@settings(max_examples=60, deadline=None)
def test_files_that_hold_anything_are_skipped_and_counted(texts: list[bytes]) -> None:
    """A damaged one never costs a good one its row."""
    good = json.dumps(row(7)).encode()
    reader = StepFilesReader()
    files = [(f"step_{100 + i}.json", text) for i, text in enumerate(texts)]
    records = reader.read([("step_7.json", good), *files])
    steps = [step for record in records if isinstance(record, Rows) for step in record.steps]
    assert 7 in steps
    assert len(steps) + sum(reader.skipped.values()) == 1 + len(texts)
