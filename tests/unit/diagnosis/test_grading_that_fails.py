"""A log that says, step after step, that answers could not be graded, in a run too short to show it in its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.diagnosis.written import finding, report, wave, write
from tests.unit.reported import told

ROWS = 22
SCORE = 0.3 + wave(0, 0.02, ROWS, 1)


def verl(step: int) -> str:
    return (
        f"step:{step} - critic/score/mean:{SCORE[step - 1]:.4f} - actor/entropy:{0.9 - step / 500:.4f} - "
        f"actor/grad_norm:{0.5 + step % 3 / 50:.3f} - response_length/mean:{300 + step % 5}.0"
    )


def trl(step: int) -> str:
    return str(
        {"loss": 0.01, "grad_norm": 0.5 + step % 3 / 50, "reward": round(float(SCORE[step - 1]), 4), "epoch": 0.1}
    )


def own(step: int) -> str:
    return f"[iter {step:04d}/400] reward={SCORE[step - 1]:.4f} kl={0.001 * step:.4f} entropy={0.9 - step / 500:.3f}"


STYLES: tuple[Callable[[int], str], ...] = (verl, trl, own)
FAILS = {
    "WARNING:grader:request to http://10.0.0.7:8000/score timed out, returning score 0 (sample {k})": "timed out",
    "reward function raised KeyError('answer') on sample {k}, using 0.0": "raised KeyError",
    "(RewardWorker pid=4{k}17) judge: connection refused, attempt {k} of 3": "judge: connection refused",
    "[sandbox] run {k} failed: container is gone": "container is gone",
    "2026-01-05 10:00:0{k} ERROR verifier unavailable for sample {k}": "verifier unavailable",
}
TIMES_OUT = next(iter(FAILS))


def log(folder: Path, row: Callable[[int], str], said: str, when: Iterable[int]) -> Path:
    """Before the row of each of these steps the log says it four times."""
    at, lines = set(when), []
    for step in range(1, ROWS + 1):
        lines += [said.format(k=k) for k in range(4) if step in at]
        lines.append(row(step))
    path = folder / "train.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def note(said: dict[str, Any]) -> dict[str, Any] | None:
    return finding(said, "grading-fails")


@pytest.mark.parametrize("row", STYLES)
@pytest.mark.parametrize("fails", FAILS)
def test_it_is_told_with_the_line_and_the_run_is_not_called_clear(
    tmp_path: Path, row: Callable[[int], str], fails: str
) -> None:
    brief, _, said = told(log(tmp_path, row, fails, range(1, ROWS + 1)))
    found = note(said)
    assert found is not None
    assert found["severity"] == "info"
    assert "before 20 of the last 20 rows" in found["summary"]
    assert FAILS[fails] in found["summary"]
    assert "the log says that grading fails: " in brief


@pytest.mark.parametrize("row", STYLES)
def test_since_when_and_no_longer(tmp_path: Path, row: Callable[[int], str]) -> None:
    found = note(told(log(tmp_path, row, TIMES_OUT, range(9, ROWS + 1)))[2])
    assert found is not None
    assert found["onset_step"] == 9
    assert note(told(log(tmp_path, row, TIMES_OUT, range(1, 9)))[2]) is None


@pytest.mark.parametrize("row", STYLES)
def test_as_it_stood_before(tmp_path: Path, row: Callable[[int], str], capsys: pytest.CaptureFixture[str]) -> None:
    found = note(report(log(tmp_path, row, TIMES_OUT, range(1, 15)), capsys, "--at", "12"))
    assert found is not None
    assert "before 12 of the last 12 rows" in found["summary"]
    assert note(report(log(tmp_path, row, TIMES_OUT, range(14, ROWS)), capsys, "--at", "12")) is None


@pytest.mark.parametrize(
    "said",
    [
        "INFO reward request {k}: timeout set to 30 s, retries if it failed",
        "WARNING:data:tokenizer of sample {k} failed to load, using the slow one",
        "reward/failed: 0.{k}",
        "grading sample {k}: ok",
        "gradient check {k} failed over to bf16",
        "saving of step {k} failed, trying again",
    ],
)
def test_other_lines_are_no_failed_grading(tmp_path: Path, said: str) -> None:
    assert note(told(log(tmp_path, verl, said, range(1, ROWS + 1)))[2]) is None


@pytest.mark.parametrize("when", [range(3, 7), range(1, ROWS, 5), [ROWS]])
def test_a_few_failures_are_usual(tmp_path: Path, when: Iterable[int]) -> None:
    assert note(told(log(tmp_path, verl, TIMES_OUT, when))[2]) is None


def test_of_a_log_that_shows_no_more_than_a_bar_beside_the_rows(tmp_path: Path) -> None:
    write(tmp_path, {"score": SCORE, "entropy": 0.9 + wave(0, 0.01, ROWS, 2)})
    bar = " {share:3}%|█    | {done}/400 [0{done:03}:00<10:00,  2.1s/it]"
    lines = [
        text
        for done in range(ROWS)
        for text in (bar.format(share=done // 4, done=done), *(TIMES_OUT.format(k=k) for k in range(3)))
    ]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = note(told(tmp_path)[2])
    assert found is not None
    assert "before 20 of the last 20 rows" in found["summary"]
