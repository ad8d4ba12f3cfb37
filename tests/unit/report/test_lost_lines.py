"""Who reads that a metric is not logged is told which lines of the log name it, and how to have them read."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import pytest

from rltui.cli import main

ROUND = "[actor] update {i}: pg_loss={loss:.4f} grad_norm={norm:.3f}"
SCORE = "[grader] batch {k}: reward={score:.4f} n=64"


def log(tmp_path: Path, *forms: str, rows: int = 30, seed: int = 5) -> Path:
    chance = random.Random(seed)
    lines = []
    for i in range(1, rows + 1):
        numbers = {"k": 2 * i, "loss": chance.gauss(0, 0.02), "norm": chance.uniform(0.2, 0.9), "score": 0.3 + 0.01 * i}
        lines += [form.format(i=i, **numbers) for form in forms]
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    return path


def page(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["report", *args]) == 0
    return capsys.readouterr().out


def told(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    text: str = json.loads(page(capsys, str(path), "--format", "json"))["answer"]["not_looked_at"]
    return text


def test_lines_that_name_a_missing_metric_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = log(tmp_path, ROUND, SCORE)
    said = told(path, capsys)
    assert said.startswith("30 lines of train.log with “reward”")
    assert "as line 2: “[grader] batch 2: reward=0.3100 n=64”" in said
    assert "could not run" in said
    for short in (page(capsys, str(path)), page(capsys, str(path), "--long")):
        assert said.split("(")[0].strip() in short.replace("\\", "")


def test_the_pattern_that_is_told_reads_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = log(tmp_path, ROUND, SCORE)
    pattern = shlex.split(told(path, capsys).partition("The option --line ")[2])[0]
    read = json.loads(page(capsys, str(path), "--line", pattern, "--format", "json"))
    reward = read["metrics"]["reward_mean"]
    assert (reward["count"], reward["first_value"], reward["last_value"]) == (30, 0.31, 0.6)


def test_signs_of_numbers_make_no_other_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(log(tmp_path, SCORE, ROUND), capsys)
    assert said.startswith("30 lines of train.log with “pg_loss” and “grad_norm”")


def test_what_is_read_elsewhere_is_not_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = SCORE.replace("{k}", "{i}")
    path = log(tmp_path, "[actor] update {i}: pg_loss={loss:.4f} reward={score:.4f}", same)
    assert "left out" not in told(path, capsys)


@pytest.mark.parametrize(
    "other",
    [
        "[server] request {i}: took {norm:.3f} seconds of queue",
        "[store] file {i} has {norm:.3f} megabytes",
        "waiting for the rewards of the batch",
    ],
)
def test_lines_that_name_no_missing_metric_are_not_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: str
) -> None:
    assert "left out" not in told(log(tmp_path, ROUND, other), capsys)


def test_a_line_that_came_only_twice_is_not_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = log(tmp_path, ROUND)
    path.write_text("[grader] self test 1: reward=0.5 n=4\n[grader] self test 2: reward=1.0 n=4\n" + path.read_text())
    assert "self test" not in told(path, capsys)


def test_rows_that_took_the_place_of_others_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "metrics.jsonl"
    rows = [{"step": i, "reward": 0.2 + 0.01 * i, "grad_norm": 0.5 + 0.001 * i} for i in range(1, 41)]
    rows.insert(20, {"step": 20, "reward": 0.9, "grad_norm": 0.7})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = told(path, capsys)
    if "averaged" not in page(capsys, str(path), "--long"):
        assert "1 row of metrics.jsonl came a second time for their step" in said
