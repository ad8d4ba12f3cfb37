"""Faults that few points show: a short preference run, evaluations that stopped, memory of a host of unknown size."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, wave, write
from tests.unit.reported import told

ROWS = 240


def preference(folder: Path, chosen: float, rejected: float, rows: int = 45) -> Path:
    """A DPO run of TRL that logs every tenth step: what both answers lose in log-probability."""
    folder.mkdir()
    t = np.linspace(0, 1, rows)
    columns = {
        "loss": 0.69 - 0.3 * t + wave(0, 0.01, rows, 1),
        "grad_norm": wave(4, 0.3, rows, 2),
        "learning_rate": 5e-7 * (1 - t),
        "rewards/chosen": -0.1 * chosen * t + wave(0, 0.02, rows, 3),
        "rewards/rejected": -0.1 * rejected * t + wave(0, 0.02, rows, 4),
        "rewards/accuracies": 0.55 + 0.2 * t + wave(0, 0.02, rows, 5),
        "rewards/margins": 0.1 * (rejected - chosen) * t + wave(0, 0.02, rows, 6),
        "logps/chosen": -210 - chosen * t + wave(0, 3, rows, 7),
        "logps/rejected": -240 - rejected * t + wave(0, 3, rows, 8),
        "epoch": t,
    }
    lines = [str({name: round(float(values[i]), 9) for name, values in columns.items()}) for i in range(rows)]
    (folder / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = {"beta": 0.1, "loss_type": "sigmoid", "logging_steps": 10, "max_steps": 10 * rows}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def test_answers_that_both_become_less_likely_are_told_of_a_short_run(tmp_path: Path) -> None:
    said = told(preference(tmp_path / "run", 35, 60))[2]
    found = finding(said, "dpo-likelihood-displacement")
    assert found is not None
    assert found["severity"] == "warning"


@pytest.mark.parametrize(("chosen", "rejected"), [(-5, 20), (2, 40)])
def test_a_short_run_whose_chosen_answers_keep_their_likelihood_is_clear(
    tmp_path: Path, chosen: float, rejected: float
) -> None:
    said = told(preference(tmp_path / "run", chosen, rejected))[2]
    assert said["verdict"]["decision"] == "continue"


def evaluated(folder: Path, at: list[int], every: int | None) -> Path:
    """A run of verl with evaluations at these rows; `every`: what its config says."""
    columns = learning(ROWS) | {"score": 0.2 + 0.4 * np.arange(ROWS) / ROWS + wave(0, 0.02, ROWS)}
    write(folder, columns)
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    for row in at:
        lines[row] = json.dumps(json.loads(lines[row]) | {"val-core/math/acc/mean@1": 0.3 + row / 1000})
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if every is not None:
        (folder / "config.yaml").write_text(f"trainer:\n  test_freq: {every}\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(("at", "every"), [([14], 15), ([9, 19, 29, 39, 49], None), ([9, 19, 29], 10)])
def test_evaluations_that_stopped_are_told(tmp_path: Path, at: list[int], every: int | None) -> None:
    said = told(evaluated(tmp_path / "run", at, every))[2]
    found = finding(said, "metric-vanished")
    assert found is not None
    assert f"step {at[-1] + 1}" in found["summary"]
    assert said["verdict"]["text"].startswith("No fault found, but a metric is no longer logged: ")


@pytest.mark.parametrize(
    ("at", "every"),
    [(list(range(14, ROWS, 15)), 15), ([14], None), ([14], 0), (list(range(49, ROWS, 50)), 5), ([9, 59], None)],
)
def test_evaluations_as_the_run_has_them_are_clear(tmp_path: Path, at: list[int], every: int | None) -> None:
    said = told(evaluated(tmp_path / "run", at, every))[2]
    assert finding(said, "metric-vanished") is None


def stopped(folder: Path, after: dict[str, float | None], rows: int) -> Path:
    """A run whose newest `rows` rows hold these cells alone, each with its row's step."""
    write(folder, learning(ROWS) | {"score": 0.2 + 0.4 * np.arange(ROWS) / ROWS, "lr": np.full(ROWS, 1e-6)})
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    for at in range(ROWS - rows, ROWS):
        row = json.loads(lines[at])
        lines[at] = json.dumps({"step": row["step"]} | {key: row.get(key) for key in after} | {"note/x": 1.0})
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("rows", [15, 100])
def test_a_run_of_which_only_settings_are_logged_any_more_is_not_clear(tmp_path: Path, rows: int) -> None:
    folder = stopped(tmp_path / "run", {}, 0)
    said = told(folder)[2]
    assert finding(said, "metric-vanished") is None
    row = json.loads((folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[0])
    kept = {key: None for key in row if "lr" in key or "length" in key}
    assert kept
    said = told(stopped(tmp_path / "stopped", kept, rows))[2]
    found = finding(said, "metric-vanished")
    assert found is not None
    assert found["severity"] == "warning"
    assert found["onset_step"] == ROWS - rows
    assert "All clear" not in said["verdict"]["text"]


@pytest.mark.parametrize(("kept", "rows"), [({"lr": None}, 3), ({}, 40)])
def test_a_few_rows_of_a_summary_or_rows_of_other_things_are_no_such_run(
    tmp_path: Path, kept: dict[str, None], rows: int
) -> None:
    assert finding(told(stopped(tmp_path / "run", kept, rows))[2], "metric-vanished") is None


def test_host_memory_that_doubles_is_a_note(tmp_path: Path) -> None:
    used = 250 + 480 * np.arange(ROWS) / ROWS + wave(0, 2, ROWS, 9)
    columns = learning(ROWS) | {"score": 0.2 + 0.4 * np.arange(ROWS) / ROWS, "perf/cpu_memory_used_gb": used}
    text = told(write(tmp_path / "run", columns))[2]["verdict"]["text"]
    assert text.startswith("No fault found, but host memory has grown: ")


@pytest.mark.parametrize(("grown", "named"), [(900.0, True), (60.0, False)])
def test_host_memory_that_multiplies_is_told_beside_a_host_of_unknown_size(
    tmp_path: Path, grown: float, named: bool
) -> None:
    used = 250 + grown * np.arange(ROWS) / ROWS + wave(0, 2, ROWS, 9)
    columns = learning(ROWS) | {"score": 0.2 + 0.4 * np.arange(ROWS) / ROWS, "perf/cpu_memory_used_gb": used}
    text = told(write(tmp_path / "run", columns))[2]["verdict"]["text"]
    assert text.startswith("Host memory creeps up, ") == named
    assert text.startswith("All clear: ") != named
