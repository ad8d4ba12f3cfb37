"""Results of test, dev and benchmark data in lines of their own, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.exporting import Rows, exported

N = 24


def log(line: str, step: str = "step {i}, reward {x:.3f}, kl 0.012", every: int = 6) -> list[str]:
    lines = []
    for i in range(1, N + 1):
        told = {"i": i, "x": 0.1 + i / 50, "y": 0.3 + i / 100, "p": 30 + i}
        lines.append(step.format(**told))
        if i % 4 == 0:
            lines.append("INFO storage: test of 3 mounts took 1.25 s, dev disk at 81.5 percent")
        if i % every == 0:
            lines.append(line.format(**told))
    return lines


def scores(found: Rows) -> dict[int, list[float]]:
    return {row["step"]: told for row in found if (told := [x for name, x in row.items() if "val_score" in name])}


@pytest.mark.parametrize(
    "line",
    [
        "Test set: accuracy = {p}.00%",
        "Test set: pass@1 = {p}.00% (n=200)",
        "dev reward {y:.3f}",
        "Dev set: reward {y:.3f}",
        "holdout reward {y:.3f}",
        "GSM8K test acc: {p}.0% (82/250)",
        "MATH val accuracy: {y:.3f}",
        "eval @ {i}: math500 {p}.0% (n=500)",
        "eval @ {i}: math {y:.3f}",
        "Eval @ {i}/24: aime24 {y:.4f} (n=120)",
        "*** EVAL (step {i}): gsm8k = {y:.3f} (82/250) ***",
    ],
)
def test_held_out_results_are_none_of_the_training(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = exported(tmp_path / "train.log", log(line), capsys)
    assert [row["step"] for row in found] == list(range(1, N + 1))
    assert [row["reward_mean"] for row in found] == pytest.approx([0.1 + i / 50 for i in range(1, N + 1)])
    assert scores(found) == {i: [pytest.approx(0.3 + i / 100)] for i in (6, 12, 18, 24)}
    assert not {"score_mean", "n", "math"} & {name for row in found for name in row}


def test_below_a_table_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["Fetching 8 files: 100%|██████████| 8/8 [00:01<00:00,  5.10it/s]", "    it   reward       kl"]
    lines += log("    eval @ {i}: math500 {p}.0% (n=500)", "  {i:>4}   {x:.4f}   0.0120")
    found = exported(tmp_path / "train.log", lines, capsys)
    assert [row["reward_mean"] for row in found] == pytest.approx([0.1 + i / 50 for i in range(1, N + 1)])
    assert scores(found) == {i: [pytest.approx(0.3 + i / 100)] for i in (6, 12, 18, 24)}


def test_an_epoch_that_is_over_tells_its_evaluation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for i in range(1, 41):
        lines.append(f"step {i}/40: reward {i / 50:.3f}, kl 0.012")
        if i % 10 == 0:
            lines.append(f"== end of epoch {i // 10}: train reward {i / 50:.3f}, dev reward 0.{i} ==")
    found = exported(tmp_path / "train.log", lines, capsys)
    assert [row["reward_mean"] for row in found] == [i / 50 for i in range(1, 41)]
    assert scores(found) == {10: [0.1], 20: [0.2], 30: [0.3], 40: [0.4]}


@pytest.mark.parametrize(
    "line",
    [
        "eval {i}: 200 prompts in 13.5 s",
        "best val acc: {y:.3f}",
        "dev server at port 8080, 3.5 GB free",
        "test: 3 files passed in 2.15 s",
        "greedy decoding took 3.5 s for 200 prompts",
    ],
)
def test_what_is_no_result_is_no_score(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = exported(tmp_path / "train.log", log(line), capsys)
    assert [row["reward_mean"] for row in found] == pytest.approx([0.1 + i / 50 for i in range(1, N + 1)])
    assert scores(found) == {}
    assert not any("time_per_step_s" in row for row in found)
