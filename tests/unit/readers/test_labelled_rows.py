"""Rows of JSON lines that state a step again under a label, through the command line: they overwrite nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.exporting import Rows, exported

N = 24
Row = dict[str, Any]


def log(second: Row, own: Row | None = None, every: int = 4) -> list[str]:
    lines = []
    for i in range(1, N + 1):
        lines.append({"step": i, **(own or {}), "reward": 0.1 + i / 50, "kl": 0.01, "time": 30.5})
        if i % every == 0:
            lines.append({"step": i, **second})
    return [json.dumps(line) for line in lines]


def check(found: Rows) -> None:
    assert [row["step"] for row in found] == list(range(1, N + 1))
    assert [row["reward_mean"] for row in found] == pytest.approx([0.1 + i / 50 for i in range(1, N + 1)])
    assert {row["time_per_step_s"] for row in found} == {30.5}


@pytest.mark.parametrize(
    ("own", "second", "name"),
    [
        ({}, {"dataset": "math", "reward": 0.9}, "math/reward"),
        ({"tag": "rollout"}, {"tag": "best", "reward": 0.9}, "best/reward"),
        ({"tag": "rollout"}, {"tag": "dev_greedy", "reward": 0.9}, "val_score"),
        ({"split": "train"}, {"split": "heldout", "reward": 0.9}, "val_score"),
        ({}, {"source": "replay", "reward": 0.9, "kl": 0.5}, "replay/reward"),
    ],
)
def test_a_row_with_a_label_of_its_own_overwrites_nothing(
    own: Row, second: Row, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = exported(tmp_path / "metrics.jsonl", log(second, own), capsys)
    check(found)
    assert {row["step"]: row[name] for row in found if name in row} == dict.fromkeys(range(4, N + 1, 4), 0.9)
    assert {row["kl_ref"] for row in found} == {0.01}


def test_of_two_agents_none_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for i in range(1, N + 1):
        lines.append({"step": i, "agent": "planner", "reward": i / 50})
        lines.append({"step": i, "agent": "coder", "reward": 0.9})
    found = exported(tmp_path / "metrics.jsonl", map(json.dumps, lines), capsys)
    assert [row["reward_mean"] for row in found] == [i / 50 for i in range(1, N + 1)]
    assert [row["coder/reward"] for row in found] == [0.9] * N


def test_samples_of_several_kinds_are_averaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ("algebra", "geometry", "algebra", "primes")
    lines = [{"step": i, "category": kind, "reward": i / 50 + j} for i in range(1, 9) for j, kind in enumerate(kinds)]
    found = exported(tmp_path / "samples.jsonl", map(json.dumps, lines), capsys)
    assert [row["reward_mean"] for row in found] == pytest.approx([i / 50 + 1.5 for i in range(1, 9)])
    assert {tuple(row) for row in found} == {("step", "reward_mean")}


def test_rows_of_the_parts_of_a_step_belong_to_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[Row] = []
    for i in range(1, N + 1):
        lines.append({"event": "rollout", "step": i, "reward": i / 50, "response_length": 200})
        lines.append({"event": "train", "step": i, "loss": 0.2, "grad_norm": 0.7})
    found = exported(tmp_path / "metrics.jsonl", map(json.dumps, lines), capsys)
    assert [row["reward_mean"] for row in found] == [i / 50 for i in range(1, N + 1)]
    assert {(row["total_loss"], row["grad_norm"], row["response_length_mean"]) for row in found} == {(0.2, 0.7, 200.0)}


@pytest.mark.parametrize(
    ("second", "name"),
    [
        ({"event": "save", "time": 140.5}, "phase:save_checkpoint"),
        ({"event": "checkpoint", "seconds": 140.5, "size_gb": 3.5}, "phase:save_checkpoint"),
        ({"type": "ckpt_saved", "duration": 140.5}, "phase:save_checkpoint"),
        ({"phase": "eval", "reward": 0.9, "time": 140.5}, "val_score"),
    ],
)
def test_the_time_of_a_checkpoint_or_an_evaluation_is_not_that_of_the_step(
    second: Row, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = exported(tmp_path / "metrics.jsonl", log(second), capsys)
    check(found)
    assert [row["step"] for row in found if name in row] == list(range(4, N + 1, 4))


def test_a_checkpoint_gives_steps_without_a_time_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[Row] = []
    for i in range(1, N + 1):
        lines.append({"step": i, "reward": i / 50, "kl": 0.01})
        lines.append({"event": "checkpoint", "step": i, "seconds": 12.5})
    found = exported(tmp_path / "metrics.jsonl", map(json.dumps, lines), capsys)
    assert [row["phase:save_checkpoint"] for row in found] == [12.5] * N
    assert not any("time_per_step_s" in row for row in found)


def test_a_row_that_tells_the_time_of_its_step_still_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[Row] = []
    for i in range(1, N + 1):
        lines.append({"event": "metrics", "step": i, "reward": i / 50})
        lines.append({"event": "timing", "step": i, "step_time": 31.5})
    found = exported(tmp_path / "metrics.jsonl", map(json.dumps, lines), capsys)
    assert [row["time_per_step_s"] for row in found] == [31.5] * N
