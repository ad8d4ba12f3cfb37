"""JSON lines of a logger: the `name` in them is that of the logger, not of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.session.locate import locate
from tests.unit.session.runs import content, opened

N = 30
LOGGERS: dict[str, dict[str, Any]] = {
    "python-json-logger": {"asctime": "2026-11-20 10:00:00", "levelname": "INFO", "message": "metrics"},
    "bunyan": {"level": 30, "msg": "metrics", "v": 0},
    "severity": {"severity": "INFO", "message": "metrics"},
}


def log(extra: dict[str, Any]) -> str:
    rows: list[dict[str, Any]] = []
    for i in range(1, N + 1):
        rows.append({**extra, "name": "trainer", "step": i, "loss": i / 64, "reward": i / 32})
        if i % 5 == 0:
            rows.append({**extra, "name": "sampler", "step": i, "tokens_per_s": 100 + i})
            rows.append({**extra, "name": "eval", "step": i, "eval_accuracy": i / 128})
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("extra", LOGGERS)
def test_several_loggers_are_one_run(extra: str, tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text(log(LOGGERS[extra]))
    found = content(opened(path))
    assert {step: (row["loss"], row["reward"]) for step, row in found.items()} == {
        i: (i / 64, i / 32) for i in range(1, N + 1)
    }
    assert {step: row["eval_accuracy"] for step, row in found.items() if "eval_accuracy" in row} == {
        i: i / 128 for i in range(5, N + 1, 5)
    }


def test_names_of_runs_stay_theirs(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    rows = [{"name": name, "level": 3, "step": i, "loss": i / 64} for i in range(1, N) for name in ("a", "b")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(locate([str(path)])) == 2
