"""Places that say one thing of a run say the same thing, and no more than the log shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from rltui.cli import main
from tests.unit.diagnosis.written import learning, report, wave, write
from tests.unit.reported import told

ROWS = 200


def texts(folder: Path, loops_from: int) -> None:
    """Dumps of samples of every tenth step, which repeat themselves from a step on."""
    dumps = folder / "rollouts"
    dumps.mkdir()
    draw = np.random.default_rng(3)
    for step in range(10, ROWS + 1, 10):
        lines = []
        for prompt in range(6):
            for _ in range(4):
                words = f"the answer to it is {draw.integers(1, 9999)}"
                looped = "wait wait wait let me think again " * 12
                output = looped if step >= loops_from else words
                score = float(draw.random() < 0.5)
                lines.append(json.dumps({"input": f"Q{prompt} of {step}?", "output": output, "score": score}))
        (dumps / f"{step}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("loops_from", [100, 10_000])
def test_no_step_is_best_whose_text_is_broken(
    loops_from: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What samples show counts as what rows show: the reward that still rises is paid for loops."""
    columns = learning(ROWS) | {"score": np.linspace(0.2, 0.6, ROWS) + wave(0, 0.01, ROWS, 1)}
    run = write(tmp_path / "run", columns)
    texts(run, loops_from)
    found = report(run, capsys)
    best = found["verdict"]["best_checkpoint"]
    broken = [f["onset_step"] for f in found["findings"] if f["id"] == "degenerate-samples" and f["status"] == "active"]
    assert bool(broken) == (loops_from <= ROWS)
    assert (best["step"] < broken[0]) if broken else (best["step"] > ROWS - 20)


@pytest.mark.parametrize("falls", [True, False])
def test_a_stop_does_not_wait_for_validation_that_falls_already(
    falls: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verdict and the line of KL, reward and validation ask one fact."""
    rows, begin = 480, 395
    at = np.arange(1, rows + 1) / 500
    rises = 0.25 + 0.5 / (1 + np.exp(-(at - 0.4) / 0.1))
    columns = learning(rows) | {
        "score": np.where(np.arange(rows) < begin, rises, np.maximum(0.03, 0.73 - 0.01 * (np.arange(rows) - begin)))
        + wave(0, 0.02, rows, 1)
    }
    held_out = 0.28 + 0.4 / (1 + np.exp(-(at - 0.4) / 0.1)) + wave(0, 0.01, rows, 2)
    late = np.maximum(0, at - 0.8)
    columns["val"] = held_out - 3 * late if falls else held_out + 0.2 * late
    run = write(tmp_path / "run", columns, {"val": 25})
    verdict, moves = (found := report(run, capsys))["verdict"], found["outlook"]["kl_reward"]
    assert (moves["validation"] == "down") == falls
    assert ("once validation falls" in verdict["would_change"]) != falls
    assert (verdict["decision"] in ("stop-use-best", "abort-now")) == falls


def test_what_costs_time_does_not_lead_a_stop_that_rests_on_validation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = 300
    columns = learning(rows)
    at = np.arange(rows) / rows
    columns["score"] = 0.2 + 0.5 * (1 - np.exp(-np.arange(rows) / 30)) + wave(0, 0.015, rows, 1)
    columns["val"] = 0.3 + 0.3 * np.minimum(1, at / 0.4) - 0.28 * np.maximum(0, at - 0.45) + wave(0, 0.012, rows, 3)
    columns["step_s"] = 30 + np.where(np.arange(rows) > 90, 0.6 * (np.arange(rows) - 90), 0) + wave(0, 0.5, rows, 9)
    run = write(tmp_path / "run", columns, {"val": 10})
    found = report(run, capsys)
    severity = {f["id"]: f["severity"] for f in found["findings"] if f["status"] == "active"}
    assert severity["step-time-regression"] == "critical"
    assert severity["val-regression"] == "warning"
    assert found["verdict"]["decision"] == "stop-use-best"
    assert found["verdict"]["because"][:2] == ["val-regression", "step-time-regression"]
    assert found["findings"][0]["id"] == "val-regression"
    assert found["verdict"]["text"].startswith("Validation past its peak")


def listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["runs", str(folder)]) == 0
    return capsys.readouterr().out.splitlines()[1]


TRACE = (
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nRuntimeError: CUDA error: out of memory\n'
)


@pytest.mark.parametrize(("end", "said"), [(TRACE, "tail: crashed"), ("Training finished\n", "not looked at")])
def test_a_list_tells_of_the_ends_what_they_show(
    end: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    rise = np.linspace(0.2, 0.5, 120) + wave(0, 0.01, 120, 1)
    lines = [f"Step {i}/300 | reward {value:.4f} | loss 0.01" for i, value in enumerate(rise, 1)]
    (run / "train.log").write_text("\n".join(lines) + "\n" + end, encoding="utf-8")
    assert said in listed(tmp_path, capsys)


@pytest.mark.parametrize("lag", [0, 40])
def test_a_symptom_dated_before_its_root_says_that_it_may_not_be(lag: int, tmp_path: Path) -> None:
    """`lag`: rows by which the symptom comes after the root."""
    rows, begin = 260, 60
    row = np.arange(rows)
    after, later = np.maximum(0, row - begin), np.maximum(0, row - begin - lag)
    columns = learning(rows)
    columns["score"] = np.maximum(0, 0.3 - 0.004 * later) + np.abs(wave(0, 0.012, rows, 1))
    columns["entropy"] = np.maximum(0.02, 0.9 - 0.012 * later) + np.abs(wave(0, 0.01, rows, 2))
    columns["kl"] = 0.03 * np.exp(np.minimum(after / 18, 5.3)) + np.abs(wave(0, 0.002, rows, 3))
    page, long, found = told(write(tmp_path / "run", columns))
    active = {f["id"]: f for f in found["findings"] if f["status"] == "active"}
    told_of = 0
    for f in active.values():
        root = active.get(f["root"])
        if root is None or root is f or f["severity"] == "info":
            continue
        lines = [
            line for text in (page, long) for line in text.splitlines() if re.search(rf"{f['title']}, since", line)
        ]
        earlier = f["onset_step"] < root["onset_step"]
        told_of += earlier
        assert lines
        assert all(("too close to tell which began first" in line) == earlier for line in lines)
    assert told_of or lag


@pytest.mark.parametrize("there", [True, False])
def test_what_has_come_to_a_level_is_not_foretold_to_reach_it(
    there: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = learning(180)
    row = np.arange(180)
    decay = np.where(row < 130, 0.6 - 0.001 * row, 0.47 * np.exp(-(row - 130) / 8)) if there else 0.6 * 0.988**row
    columns["entropy"] = np.maximum(0.004, decay) * np.exp(wave(0, 0.03, 180, 2))
    run = write(tmp_path / "run", columns)
    foretold = [f["what"] for f in report(run, capsys)["outlook"]["forecasts"]]
    assert ("entropy" in foretold) != there


def test_the_start_has_one_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That of the table: the best step does not name another."""
    run = write(tmp_path / "run", learning(60) | {"score": wave(0.3, 0.03, 60, 4)})
    best = report(run, capsys)["verdict"]["best_checkpoint"]
    assert not best["beats_start"]
    assert not re.search(r"start of \d", best["against"] + best["basis"])


@pytest.mark.parametrize("saved", [True, False])
def test_the_mark_of_a_chart_is_a_checkpoint_if_one_was_saved(saved: bool, tmp_path: Path) -> None:
    run = write(tmp_path / "run", learning(120))
    if saved:
        (run / "global_step_100").mkdir()
        (run / "global_step_100" / "model.safetensors").write_bytes(b"0" * 99)
    _, long, _ = told(run)
    assert ("◆ best checkpoint" in long) == saved
    assert ("◆ best step" in long) != saved
