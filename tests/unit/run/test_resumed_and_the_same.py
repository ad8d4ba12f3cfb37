"""A run that is resumed from an earlier checkpoint and does the same again, to the last digit, is told as restarted: no
step takes as long twice. A log that was copied into itself is none."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from tests.unit.readers.reported import reported


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


@pytest.mark.parametrize(("later_s", "last", "told"), [(817.0, 120, [51]), (3600.0, 120, []), (817.0, 90, [])])
def test_in_a_second_file(later_s: float, last: int, told: list[int], tmp_path: Path) -> None:
    """Only its times tell: it was written after the first file ended, and went on. A clock that is hours ahead is no
    launch, and neither is a copy of a part."""
    (tmp_path / "run").mkdir()
    for name, first, end, begun in (("metrics", 1, 100, 0.0), ("metrics_2", 51, last, later_s)):
        lines = [row | {"timestamp": 1.7e9 + begun + 10.0 * row["step"]} for row in rows(first, end, 1)]
        for one in lines:
            del one["step_time"]
        path = tmp_path / "run" / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(path, (1.7e9 + begun, 1.7e9 + begun))
    run = reported(tmp_path / "run")["run"]
    assert run["restarts"] == told
    assert run["steps"] == {"first": 1, "last": max(last, 100), "total": None, "rows": max(last, 100)}
