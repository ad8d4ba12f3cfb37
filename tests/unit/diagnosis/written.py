"""Runs that a test writes as a trainer would, and what the command line says of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main

Columns = Mapping[str, Sequence[float] | np.ndarray]
T0 = 1_760_000_000.0

VERL = {
    "score": "critic/score/mean",
    "score_min": "critic/score/min",
    "score_max": "critic/score/max",
    "advantage_min": "critic/advantages/min",
    "advantage_max": "critic/advantages/max",
    "kl": "actor/kl_loss",
    "entropy": "actor/entropy",
    "loss": "actor/pg_loss",
    "grad": "actor/grad_norm",
    "ppo_kl": "actor/ppo_kl",
    "clip": "actor/pg_clipfrac",
    "lr": "actor/lr",
    "length": "response_length/mean",
    "longest": "response_length/max",
    "cut": "response_length/clip_ratio",
    "val": "val-core/gsm8k/acc/mean@1",
    "step_s": "timing_s/step",
}
"""Short name -> key of verl."""


def wave(level: float, size: float = 0.0, rows: int = 120, seed: int = 0) -> np.ndarray:
    """A level with noise."""
    return level + size * np.random.default_rng(seed).standard_normal(rows)


def learning(rows: int = 120) -> dict[str, np.ndarray]:
    """What a healthy run logs."""
    rise = 0.2 + 0.5 * (1 - np.exp(-np.arange(rows) / (rows / 3)))
    return {
        "score": rise + wave(0, 0.015, rows, 1),
        "kl": np.linspace(0.001, 0.03, rows),
        "entropy": np.linspace(1.0, 0.7, rows) + wave(0, 0.01, rows, 2),
        "loss": wave(0.0, 0.01, rows, 3),
        "grad": wave(0.5, 0.05, rows, 4),
        "ppo_kl": np.abs(wave(0.001, 0.0003, rows, 5)),
        "clip": np.abs(wave(0.01, 0.002, rows, 6)),
        "length": wave(300, 5, rows, 7),
        "longest": wave(600, 10, rows, 10),
        "cut": np.abs(wave(0.01, 0.003, rows, 8)),
        "step_s": wave(30, 0.5, rows, 9),
    }


def write(folder: Path, columns: Columns, every: Mapping[str, int] | None = None, end: bool = False) -> Path:
    """`metrics.jsonl` in the folder, a step a row from 1, stamped 30 s apart. `every`: a column is logged every so many
    rows. `end`: the log says that the run is over."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = max(len(c) for c in columns.values())
    lines = []
    for i in range(rows):
        row: dict[str, Any] = {"step": i + 1, "timestamp": T0 + 30 * i}
        for name, values in columns.items():
            if i < len(values) and (i + 1) % (every or {}).get(name, 1) == 0:
                row[VERL.get(name, name)] = float(values[i])
        lines.append(json.dumps(row))
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if end:
        (folder / "train.log").write_text("Training finished\n", encoding="utf-8")
    return folder


def report(run: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """`rltui report RUN --format json`."""
    capsys.readouterr()
    assert main(["report", str(run), "--format", "json", *words]) in (0, 1)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def finding(of: Mapping[str, Any], rule: str) -> dict[str, Any] | None:
    """The active finding of a rule, None if there is none."""
    found: list[dict[str, Any]] = of["findings"]
    return next((f for f in found if f["id"] == rule and f["status"] == "active"), None)


def stage(of: Mapping[str, Any], name: str) -> str:
    """The status of a stage."""
    return str(next(s["status"] for s in of["pipeline"] if s["stage"] == name))
