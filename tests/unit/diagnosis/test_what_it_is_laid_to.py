"""What a fall is laid to: a KL that only drifts along is not the root of it, training that validation follows has no
wrong sign, an error of a moment ago is not all clear, and the stamp of a launch tells nothing of the rows behind it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from tests.draws import some
from tests.unit.diagnosis.written import T0, finding, learning, report, wave, write
from tests.unit.reported import told

ROWS, AT = 240, 120
STEP = np.arange(ROWS)
SINCE = np.clip((STEP - AT) / 50, 0, 1)


def run_on(seed: int) -> dict[str, np.ndarray]:
    """Responses no longer end from a step on; KL doubles every 40 steps, before as after it."""
    run = learning(ROWS)
    run["score"] = run["score"] * (1 - 0.9 * SINCE) + wave(0, 0.01, ROWS, seed)
    run["length"] = 300 * (1 + 2.2 * SINCE) + wave(0, 5, ROWS, seed + 1)
    run["longest"] = np.full(ROWS, 1024.0)
    run["cut"] = np.clip(0.01 + 0.9 * SINCE + wave(0, 0.003, ROWS, seed + 2), 0, 1)
    run["kl"] = 0.008 * 2 ** (STEP / 48) * (1 + wave(0, 0.03, ROWS, seed + 3))
    return run


@pytest.mark.parametrize("seed", [0, 10, 20])
def test_kl_that_drifts_on_as_before_is_not_the_root(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, run_on(seed))
    found = report(tmp_path, capsys)
    lead = found["findings"][0]
    assert lead["id"] not in ("kl-runaway", "kl-up-reward-flat"), lead["title"]
    assert lead["onset_step"] >= AT - 20


@pytest.mark.parametrize("seed", [0, 10, 20])
def test_kl_that_runs_away_before_the_fall_still_is(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = learning(ROWS)
    run["kl"] = 0.02 * np.exp(np.clip((STEP - AT) / 12, 0, 5)) * (1 + wave(0, 0.03, ROWS, seed))
    run["score"] = run["score"] * (1 - 0.9 * np.clip((STEP - AT - 25) / 40, 0, 1)) + wave(0, 0.01, ROWS, seed + 1)
    write(tmp_path, run)
    runaway = finding(report(tmp_path, capsys), "kl-runaway")
    assert runaway is not None
    assert runaway["severity"] == "critical"


@pytest.mark.parametrize("seed", some([0, 10, 20]))
def test_a_reward_that_falls_while_validation_rises_has_no_wrong_sign(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = learning(ROWS)
    run["score"] = 0.45 - 0.28 * STEP / ROWS + wave(0, 0.015, ROWS, seed)
    run["val"] = 0.45 + 0.2 * STEP / ROWS + wave(0, 0.008, ROWS, seed + 1)
    run["lr"] = wave(1e-6, 0, ROWS)
    write(tmp_path, run, every={"val": 20})
    found = report(tmp_path, capsys)
    signs = [c for f in found["findings"] for c in f["causes"] if "wrong sign" in c["text"]]
    assert all(one["status"] == "contradicted" for one in signs), signs
    assert "wrong sign" not in found["answer"]["why"]
    assert not [f["id"] for f in found["findings"] if f["status"] == "active" and f["severity"] != "info"]


def logged(folder: Path, first: str, last: str) -> Path:
    """A console of verl without time stamps but one in its first line; its last line; and when it was written."""
    run = learning(60)
    lines = [first]
    for i in range(60):
        cells = {
            "critic/score/mean": run["score"][i],
            "actor/entropy": run["entropy"][i],
            "actor/kl_loss": run["kl"][i],
            "timing_s/step": 60.0,
        }
        lines.append(f"step:{i + 1} - " + " - ".join(f"{name}:{value:.5f}" for name, value in cells.items()))
    path = folder / "train.log"
    path.write_text("\n".join([*lines, *([last] if last else [])]) + "\n")
    (folder / "config.json").write_text('{"trainer.total_training_steps": 400}')
    for one in folder.iterdir():
        os.utime(one, (T0, T0))
    return path


def test_the_stamp_of_a_launch_does_not_date_the_rows_behind_it(tmp_path: Path) -> None:
    launched = datetime.fromtimestamp(T0 - 9 * 3600, UTC).strftime("%Y-%m-%d %H:%M:%S,000")
    logged(tmp_path, f"{launched}\tINFO worker.py:1841 -- Started a local Ray instance.", "")
    page, _, found = told(tmp_path, T0 + 20)
    assert found["run"]["state"] in ("running", "unknown"), found["run"]["state_because"]
    assert "Stopped at" not in page


def test_an_error_of_a_moment_ago_is_not_all_clear(tmp_path: Path) -> None:
    run = learning(60)
    lines = []
    for i in range(60):
        at = datetime.fromtimestamp(T0 - 60 * (59 - i), UTC).strftime("%Y-%m-%d %H:%M:%S")
        lines.append(f"[{at}] step={i + 1}/400 reward={run['score'][i]:.4f} kl={run['kl'][i]:.4f} loss=0.01")
    error = "[rank3]:[E ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL()"
    (tmp_path / "train.log").write_text("\n".join([*lines, error, "Fatal Python error: Aborted"]) + "\n")
    os.utime(tmp_path / "train.log", (T0, T0))
    page, _, found = told(tmp_path, T0 + 15)
    assert found["verdict"]["decision"] == "continue-watch"
    assert "All clear" not in page
    assert "may have ended" in found["verdict"]["text"]
    assert "Watchdog caught" in found["answer"]["why"]
