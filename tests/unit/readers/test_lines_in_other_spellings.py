"""Numbers as other people and programs spell them, through the command line: every value comes back at its step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main

STEPS = 40
LINES: dict[str, tuple[str, dict[str, float]]] = {
    "decimal commas between commas": (
        "Schritt {n}: Verlust={l}, Belohnung={r}, KL=0,0125",
        {"total_loss": 1.4414, "reward_mean": 0.2435, "kl_ref": 0.0125},
    ),
    "marks between thousands": (
        "step={n} tokens_seen=1_234_567 loss=1.4414 reward=0.2435",
        {"tokens_seen": 1234567, "total_loss": 1.4414, "reward_mean": 0.2435},
    ),
    "minutes glued to what was done": (
        "step {n} loss 1.4414 reward 0.2435 gen 13980ms train 0.25min",
        {"total_loss": 1.4414, "phase:rollout": 13.98, "phase:update_actor": 15.0},
    ),
    "a time before the step at the end": (
        "reward 0.2435 loss 1.4414 (13.5s) @ step {n}",
        {"reward_mean": 0.2435, "total_loss": 1.4414, "time_per_step_s": 13.5},
    ),
}
NEAR: dict[str, tuple[str, dict[str, float]]] = {
    "lists of whole numbers": (
        "step {n} loss=1.4414 reward=0.2435 gpus=4,5 seed=7",
        {"total_loss": 1.4414, "reward_mean": 0.2435},
    ),
    "a name with marks": ("step {n} run_1_234=0.5 loss=1.4414 reward=0.2435", {"total_loss": 1.4414}),
    "the least of a reward": (
        "step {n} loss 1.4414 reward 0.2435 (0.125 min, 0.75 max)",
        {"total_loss": 1.4414, "reward_mean": 0.2435},
    ),
}


def exported(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("style", {**LINES, **NEAR})
def test_numbers_of_a_line(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    form, cells = {**LINES, **NEAR}[style]
    lines = (form.format(n=n, l="1,4414", r="0,2435") for n in range(1, STEPS + 1))
    (tmp_path / "train.log").write_text("".join(f"{line}\n" for line in lines))
    rows = exported(tmp_path / "train.log", capsys)
    assert [row["step"] for row in rows] == list(range(1, STEPS + 1))
    for row in rows:
        assert {name: row.get(name) for name in cells} == cells


def test_what_a_logger_says_of_the_program_is_no_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = {"event": "train_step", "level": "info", "lineno": 88, "process": 4123, "thread": 139872}
    rows = ({**record, "step": n, "loss": 1 / n, "reward": n / 64} for n in range(1, STEPS + 1))
    (tmp_path / "app.log").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert all(row.keys() == {"step", "total_loss", "reward_mean"} for row in exported(tmp_path / "app.log", capsys))


def test_lists_of_names_and_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = ([{"name": "loss", "value": 1 / n}, {"name": "reward", "value": n / 64}] for n in range(1, STEPS + 1))
    rows = [{"step": n, "metrics": listed} for n, listed in enumerate(named, 1)]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = exported(tmp_path / "m.jsonl", capsys)
    assert [(row["total_loss"], row["reward_mean"]) for row in read] == [(1 / n, n / 64) for n in range(1, STEPS + 1)]


def test_the_rate_of_each_group_of_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ({"step": n, "loss": 1 / n, "reward": n / 64, "lr": [1e-6 / n, 1e-7 / n]} for n in range(1, STEPS + 1))
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [row["lr"] for row in exported(tmp_path / "m.jsonl", capsys)] == [1e-6 / n for n in range(1, STEPS + 1)]
