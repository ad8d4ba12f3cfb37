"""A run that logs its last evaluation again in each row is judged as one that logs it once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit import reported

Rows = list[dict[str, float]]


def told(rows: Rows, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, _, found = reported.told(folder)
    return {
        "verdict": {k: v for k, v in found["verdict"].items() if k not in ("confidence", "text")},
        "findings": [(f["id"], f["severity"], f["status"], f["onset_step"]) for f in found["findings"]],
    }


def trained(seed: int, every: int, falls: float) -> tuple[Rows, Rows]:
    """The run with each evaluation once, and with the last one in each row. `falls`: by how much validation falls over
    the second half."""
    draw = random.Random(seed)
    once: Rows = []
    again: Rows = []
    held_out = 0.0
    for i in range(400):
        row = {"step": i + 1.0, "reward": 0.3 + 0.3 * i / 400 + draw.gauss(0, 0.03), "entropy": draw.gauss(1, 0.02)}
        row["kl"] = 0.01 + 0.0002 * i + draw.gauss(0, 0.002)
        if new := i % every == 0:
            held_out = 0.4 + 0.2 * i / 400 - falls * max(0.0, i / 200 - 1) + draw.gauss(0, 0.02)
        once.append({**row, "val_score": held_out} if new else row)
        again.append({**row, "val_score": held_out})
    return once, again


@pytest.mark.long
@pytest.mark.parametrize(("seed", "every", "falls"), [(0, 20, 0.25), (1, 20, 0.0), (2, 20, 0.0), (3, 5, 0.25)])
def test_an_evaluation_that_is_logged_again_is_no_other_one(
    seed: int, every: int, falls: float, tmp_path: Path
) -> None:
    once, again = (told(rows, tmp_path / name) for rows, name in zip(trained(seed, every, falls), "ab", strict=True))
    assert again == once
    assert once["verdict"]["best_checkpoint"]["metric"] == "val_score"


def of_eight(right: float, draw: random.Random) -> float:
    return sum(draw.random() < right for _ in range(8)) / 8


LIKE_THE_ONE_BEFORE: dict[str, Callable[[float, random.Random], float]] = {
    "few questions": lambda at, draw: of_eight(0.97 if at < 200 else 0.5, draw),
    "nothing right any more": lambda at, draw: 0.4 + at / 1000 + draw.gauss(0, 0.02) if at < 200 else 0.0,
}


@pytest.mark.parametrize("kind", LIKE_THE_ONE_BEFORE)
def test_an_evaluation_like_the_one_before_counts(kind: str, tmp_path: Path) -> None:
    """Logged in each row, evaluations that came out alike are as many as the rows between two of them say."""
    draw = random.Random(7)
    once: Rows = []
    again: Rows = []
    for i, row in enumerate(trained(1, 400, 0.0)[0]):
        if new := i % 10 == 0:
            held_out = LIKE_THE_ONE_BEFORE[kind](i, draw)
        once.append({**row, "val_score": held_out} if new else {k: v for k, v in row.items() if k != "val_score"})
        again.append({**row, "val_score": held_out})
    apart, each = told(once, tmp_path / "once"), told(again, tmp_path / "again")
    assert each == apart
    told_of = {"val-regression", "validation-shift"}  # at once, and training is as before
    assert told_of & {name for name, severity, status, _ in each["findings"] if status == "active"}


def test_an_evaluation_that_is_logged_again_in_most_rows_is_no_other_one(tmp_path: Path) -> None:
    """Each fifth row was lost or holds no number: a level validation stays one."""
    draw = random.Random(3)
    _, rows = trained(0, 400, 0.0)
    held_out = [draw.gauss(0.5, 0.02) for _ in range(40)]
    for i, row in enumerate(rows):
        row["val_score"] = held_out[i // 10] if draw.random() < 0.8 else float("nan")
    found = told(rows, tmp_path / "run")["findings"]
    assert not {"val-regression", "train-val-divergence"} & {name for name, *_ in found}


def test_evaluations_that_are_alike_by_chance_all_count(tmp_path: Path) -> None:
    """Sixteen questions a row, of which about as many are right each time."""
    draw = random.Random(4)
    rows, _ = trained(1, 400, 0.0)
    for row in rows:
        row["val_score"] = sum(draw.random() < 0.97 - 0.4 * (row["step"] > 200) for _ in range(16)) / 16
    told_of = told(rows, tmp_path / "run")
    assert ("val-regression", "critical", "active") in {found[:3] for found in told_of["findings"]}, told_of
