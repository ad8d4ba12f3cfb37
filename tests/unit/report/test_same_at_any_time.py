"""What is said of one moment holds when the run goes on, and what is said of the present holds in all its files."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from rltui.cli import main
from tests.unit.reported import told, told_at

ROWS, BROKE, NOW = 220, 130, 1_795_737_600.0


def rows_of(
    folder: Path, columns: dict[str, np.ndarray], name: str = "metrics.jsonl", begun: float = NOW - 9e4
) -> Path:
    """A run of these columns, a row every 30 s; NaN is a cell that is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w") as out:
        for i in range(len(next(iter(columns.values())))):
            cells = {key: float(x[i]) for key, x in columns.items() if np.isfinite(x[i])}
            out.write(json.dumps({"step": i + 1, "time": begun + 30 * i, "total_steps": 400} | cells) + "\n")
    return folder


def runaway(seed: int) -> dict[str, np.ndarray]:
    """KL that grows ever faster from a step on, and a reward that falls a little later."""
    rng, i = np.random.default_rng(seed), np.arange(1, ROWS + 1)
    gone = np.maximum(0, i - BROKE)
    return {
        "reward": 0.3 + 0.25 * (1 - np.exp(-i / 60)) - 0.004 * np.maximum(0, gone - 8) + 0.02 * rng.normal(size=ROWS),
        "kl": (0.001 + 0.00004 * i) * np.exp(0.06 * gone) * np.exp(0.08 * rng.normal(size=ROWS)),
        "entropy": 0.9 - 0.001 * i + 0.01 * rng.normal(size=ROWS),
        "grad_norm": 0.3 + 0.03 * rng.normal(size=ROWS),
        "loss": 0.01 * rng.normal(size=ROWS),
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_cause_that_began_before_is_not_refuted_as_it_grows(seed: int, tmp_path: Path) -> None:
    run = rows_of(tmp_path / "run", runaway(seed))
    steps = (190, 200, 210, ROWS)
    for step, (_, _, report) in zip(steps, told_at(run, steps), strict=True):
        for finding in report["findings"]:
            for cause in finding["causes"] if finding["status"] == "active" else ():
                of_kl = "KL drift" in cause["text"]
                assert not (of_kl and cause["status"] == "contradicted"), (step, finding["id"], cause)


def test_a_report_of_an_earlier_step_has_its_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = "".join(
        f"2026-11-26 {10 + n // 60:02}:{n % 60:02}:00 INFO step {n}/300 | reward 0.5 | kl 0.01 | loss 0.1\n"
        for n in range(1, 200)
    )
    (tmp_path / "train.log").write_text(log + "2026-11-26 20:00:00 WARNING something else\n")
    assert main(["report", str(tmp_path), "--at", "100", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["as_of"].startswith("2026-11-26T11:40:00")


def test_a_console_that_is_written_now_is_alive_beside_rows_that_stopped(tmp_path: Path) -> None:
    rng, i = np.random.default_rng(4), np.arange(1, 121)
    columns = {"reward": 0.3 + 0.002 * i, "kl": 0.002 + 0.0001 * i, "loss": 0.01 * rng.normal(size=120)}
    run = rows_of(tmp_path, columns, begun=NOW - 720 - 30 * 119)
    os.utime(run / "metrics.jsonl", (NOW - 718, NOW - 718))
    lines = [f"step: {n}/400 reward: {0.3 + 0.002 * n:.4f} kl: {0.002 + 0.0001 * n:.4f}\n" for n in range(1, 145)]
    (run / "console.log").write_text("".join(lines))
    os.utime(run / "console.log", (NOW - 2, NOW - 2))
    assert told(run, NOW)[2]["run"]["state"] == "running"
    os.utime(run / "metrics.jsonl", (NOW - 5, NOW - 5))  # both are copies: no time of a file says anything
    os.utime(run / "console.log", (NOW - 5, NOW - 5))
    assert told(run, NOW)[2]["run"]["state"] == "stalled"


def test_without_a_timer_of_the_step_the_times_of_the_rows_tell_it(tmp_path: Path) -> None:
    rng, i = np.random.default_rng(5), np.arange(1, 101)
    columns = {"reward": 0.3 + 0.002 * i, "loss": 0.01 * rng.normal(size=100), "gen_time": np.full(100, 9.0)}
    page, _, report = told(rows_of(tmp_path, columns), NOW)
    assert report["phases"]["step_s"] is None
    assert "A step takes 30.0 s (mean, by the times of the newest rows)" in page


@pytest.mark.parametrize("run", sorted(p for p in (Path(__file__).parents[3] / "sample_runs").iterdir() if p.is_dir()))
def test_no_sentence_of_the_short_report_is_cut_off(run: Path) -> None:
    page, _, _ = told(run)
    text = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    assert not re.search(r"[^\s`│…] …$", text, re.MULTILINE)
