"""Rows without a step: the config may say how many steps apart they are, else they are rows and no steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reported import reported

ROW = "{{'loss': {x:.3f}, 'grad_norm': 1.5, 'learning_rate': 1e-06, 'reward': {x:.3f}, 'kl': 0.01, 'epoch': {e:.3f}}}\n"
DONE = "{'train_runtime': 900.0, 'train_samples_per_second': 2.0, 'train_loss': 0.3, 'epoch': 1.0}\n"


def run_of(folder: Path, every: int | None, planned: int, rows: int = 30, end: str = DONE) -> dict[str, Any]:
    (folder / "out.txt").write_text("".join(ROW.format(x=n / 100, e=n / rows) for n in range(1, rows + 1)) + end)
    said: dict[str, Any] = {"learning_rate": 1e-6, "max_steps": planned, "num_generations": 8}
    (folder / "config.json").write_text(json.dumps(said | ({} if every is None else {"logging_steps": every})))
    return reported(folder)["run"]


@pytest.mark.parametrize("every", [5, 20])
def test_rows_stand_as_far_apart_as_the_config_has_it(every: int, tmp_path: Path) -> None:
    run = run_of(tmp_path, every, 30 * every)
    assert (run["steps"]["first"], run["steps"]["last"], run["steps"]["rows"]) == (every, 30 * every, 30)
    assert run["state"] == "finished"
    assert f"step {30 * every} of {30 * every}" in run["state_because"]


@pytest.mark.parametrize(("every", "planned"), [(10, 60), (None, 600), (1, 600)], ids=["too many", "unsaid", "each"])
def test_rows_that_nothing_places_are_counted_as_rows(every: int | None, planned: int, tmp_path: Path) -> None:
    run = run_of(tmp_path, every, planned)
    assert run["steps"]["last"] == 30
    assert "at row 30" in run["state_because"]
    assert "step 30" not in run["state_because"]


def test_a_log_that_breaks_off_is_told_in_rows(tmp_path: Path) -> None:
    assert "step 30" not in run_of(tmp_path, None, 600, end="")["state_because"]


def test_logged_steps_are_left_as_they_are(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"step": n, "reward": n / 100, "loss": 0.1, "kl": 0.1}) + "\n" for n in range(1, 31))
    (tmp_path / "metrics.jsonl").write_text(lines)
    (tmp_path / "config.json").write_text(json.dumps({"logging_steps": 10, "max_steps": 300, "learning_rate": 1e-6}))
    assert reported(tmp_path)["run"]["steps"]["last"] == 30
