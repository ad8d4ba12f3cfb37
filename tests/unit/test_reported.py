"""A report of a run that is read on is that of a run that is read anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import wave
from tests.unit.reported import told, told_as_it_grows

ROWS, AT = 180, 90
STEP = np.arange(1, ROWS + 1)
LATER = np.clip((STEP - AT) / 20, 0, 1)

COURSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "learns": lambda x: x,
    "falls and comes back": lambda x: x * (1 - 0.8 * LATER * (STEP < AT + 50)),
    "is no number now and then": lambda x: np.where((STEP > AT) & (STEP % 3 == 0), np.nan, x),
}


@pytest.mark.parametrize("course", COURSES)
def test_read_on_it_is_told_as_anew(course: str, tmp_path: Path) -> None:
    share = 0.2 + 0.3 * STEP / ROWS
    columns = {
        "reward": COURSES[course](share + wave(0, 0.02, ROWS, 1)),
        "kl": 0.04 * (STEP / ROWS) * wave(1, 0.08, ROWS, 2),
        "grad_norm": COURSES[course](wave(0.5, 0.05, ROWS, 3)),
        "eval_accuracy": np.where(STEP % 10 == 0, COURSES[course](share), np.inf),
    }
    rows = [{"step": n + 1} | {key: x[n] for key, x in columns.items() if x[n] < np.inf or x[n] != x[n]}
            for n in range(ROWS)]  # fmt: skip

    def written(folder: Path, upto: int) -> Path:
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps({"algorithm": "grpo", "total_steps": 600}))
        (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:upto]))
        return folder

    lengths = (60, AT + 3, AT + 11, AT + 40, ROWS)
    now = 1.9e9
    grown = told_as_it_grows((written(tmp_path / "run", n) for n in lengths), now)
    for n, found in zip(lengths, grown, strict=True):
        assert found == told(tmp_path / "run", now), n
