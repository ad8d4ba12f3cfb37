"""Dicts that a loop prints over several lines, below or behind its step, through the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main

STEPS = 40
FORMS: dict[str, Callable[[int, dict[str, Any]], str]] = {
    "behind a step": lambda n, cells: f"Step {n}: {json.dumps(cells, indent=2)}",
    "behind a plan": lambda n, cells: f"[step {n}/40] {json.dumps(cells, indent=4)}",
    "below a step": lambda n, cells: f"Step {n}:\n{json.dumps(cells, indent=2)}",
    "with its step": lambda n, cells: json.dumps({"step": n} | cells, indent=2),
    "in one line": lambda n, cells: f"Step {n}: {json.dumps(cells)}",
    "as Python prints it": lambda n, cells: f"Step {n}: {cells}",
    "in lines of its own": lambda n, cells: (
        f"Step {n}:\n{{\n" + "".join(f"  {k!r}: {v},\n" for k, v in cells.items()) + "}"
    ),
    "in a message": lambda n, cells: (
        f"2026-03-05 10:00:{n:02} - grpo - INFO - metrics: {json.dumps({'step': n} | cells)}"
    ),
}
CODE = """def step_size(n):
    return {
        "loss": n / 2,
        "reward": 7,
    }
"""


def cells_at(n: int) -> dict[str, Any]:
    return {"loss": 1 / n, "kl": n / 4096, "reward": {"mean": n / 64, "std": 0.5}}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("between", ["", CODE])
def test_every_number_is_of_its_step(
    form: str, between: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.log").write_text(
        "".join(f"{FORMS[form](n, cells_at(n))}\n{between}" for n in range(1, STEPS + 1))
    )
    assert main(["export", str(tmp_path / "train.log"), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["step"] for row in rows] == list(range(1, STEPS + 1))
    for n, row in enumerate(rows, 1):
        told = {name: row.get(name) for name in ("total_loss", "kl_ref", "reward_mean", "reward_std")}
        assert told == {"total_loss": 1 / n, "kl_ref": n / 4096, "reward_mean": n / 64, "reward_std": 0.5}
