"""What would change a verdict is told only if the log has not answered it yet."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rltui.cli import main

ROWS = 120


def sure(tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[dict[str, float]], planned: int | None) -> str:
    """The line of the report that says how sure it is."""
    path = tmp_path / "run" / "metrics.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if planned is not None:
        (path.parent / "config.json").write_text(json.dumps({"algorithm": "grpo", "max_steps": planned, "lr": 1e-6}))
    main(["report", str(path.parent)])
    told = capsys.readouterr().out
    return next(line for line in told.splitlines() if line.startswith("- How sure"))


def runaway(validation: bool, kl_end: float = 3.0) -> list[dict[str, float]]:
    rng = np.random.default_rng(5)
    kl = 0.01 * np.exp(np.linspace(0, np.log(kl_end / 0.01), ROWS)) * np.exp(0.05 * rng.normal(size=ROWS))
    out = []
    for i in range(ROWS):
        row = {
            "step": i + 1,
            "reward": 0.5 + 0.03 * rng.normal() - 0.003 * max(0, i - 60),
            "kl": float(kl[i]),
            "grad_norm": float(0.4 * np.exp(0.2 * rng.normal())),
            "entropy": 0.8 + 0.01 * rng.normal(),
            "lr": 1e-6,
        }
        if validation and i % 10 == 0:
            row["eval_reward"] = 0.5 - 0.002 * i
        out.append(row)
    return out


def test_of_a_run_that_is_over_nothing_is_told_that_can_only_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = sure(tmp_path, capsys, runaway(validation=True), ROWS)
    assert "validation rises" not in text
    assert "still" not in text


def test_of_a_run_that_goes_on_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = sure(tmp_path, capsys, runaway(validation=False), 10 * ROWS)
    assert "validation rises" in text


def test_what_is_so_already_and_changed_nothing_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = runaway(validation=True)
    for i, row in enumerate(rows):
        if "eval_reward" in row:
            row["eval_reward"] = 0.3 + 0.004 * i
    text = sure(tmp_path, capsys, rows, 10 * ROWS)
    assert "if validation rises in proportion" not in text
