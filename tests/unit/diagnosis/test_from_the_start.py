"""What was wrong from the first row on: a fault of the set-up that is to be mended, and no course that got there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write

ROWS = 160


@pytest.mark.parametrize(
    ("kl", "first", "runs"),
    [
        (np.full(ROWS, 0.9), 1, False),  # it stands where it stood at step 1
        (np.linspace(0.3, 0.95, ROWS), 1, True),
        (np.full(ROWS, 0.9), 2000, True),  # nobody knows where it began
    ],
)
def test_a_kl_that_never_left_its_start_ran_nowhere(
    kl: np.ndarray, first: int, runs: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = learning(ROWS) | {"score": wave(0.4, 0.03, ROWS, 4), "kl": kl + wave(0, 0.05, ROWS, 5)}
    log = write(tmp_path / "run", columns) / "metrics.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("".join(json.dumps(row | {"step": row["step"] + first - 1}) + "\n" for row in rows))
    of = report(log.parent, capsys)
    told = finding(of, "kl-runaway")
    assert (told is not None and told["severity"] == "critical") == runs
    assert (of["verdict"]["decision"] in ("stop-use-best", "pause-and-fix")) == runs


@pytest.mark.parametrize(
    ("score", "since", "decision"),
    [
        (wave(0.3, 0.02, ROWS, 6), 0, "pause-and-fix"),  # it never worked
        (0.2 + np.linspace(0.0, 0.5, ROWS) + wave(0, 0.02, ROWS, 6), 0, None),  # it works all the same
        (np.r_[np.linspace(0.2, 0.7, 110), np.full(50, 0.45)] + wave(0, 0.02, ROWS, 6), 110, "stop-use-best"),
    ],
    ids=["never", "all the same", "no longer"],
)
def test_what_never_worked_is_mended_and_what_worked_is_kept(
    score: np.ndarray, since: int, decision: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = np.where(np.arange(ROWS) >= since, 0.96, 0.01) + wave(0, 0.005, ROWS, 7)
    of = report(write(tmp_path / "run", learning(ROWS) | {"score": score, "cut": np.clip(cut, 0, 1)}), capsys)
    assert of["verdict"]["decision"] == decision or (decision is None and "pause" not in of["verdict"]["decision"])
