"""A run that is resumed from an earlier checkpoint and does the same again, to the last digit, is told as restarted: no
step takes as long twice. A log that was copied into itself is none."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main


def rows(first: int, last: int, seed: int) -> list[dict[str, Any]]:
    """What is learnt hangs on the step alone, how long it took on the launch."""
    clock = random.Random(seed)
    out = []
    for step in range(first, last + 1):
        value = random.Random(step)
        row = {"step": step, "reward": 0.3 + 0.001 * step + value.gauss(0, 0.02), "loss": value.gauss(0, 0.05)}
        row |= {"grad_norm": 0.4 + value.gauss(0, 0.03), "entropy": 0.6 + value.gauss(0, 0.01)}
        out.append(row | {"step_time": 2.0 + clock.random()})
    return out


def restarts(folder: Path, lines: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> list[int]:
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["report", str(folder), "--format", "json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert run["steps"]["last"] == max(line["step"] for line in lines[-30:])
    return list(run["restarts"])


def test_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert restarts(tmp_path / "run", rows(1, 100, 1) + rows(51, 120, 2), capsys) == [51]


def test_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert restarts(tmp_path / "run", rows(1, 100, 1) + rows(1, 100, 1), capsys) == []


def test_a_few_rows_that_were_revised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = rows(96, 100, 1)
    for row in again:
        row["step_time"] += 0.5
    assert restarts(tmp_path / "run", rows(1, 100, 1) + again + rows(101, 130, 1), capsys) == []
