"""A trainer that is upgraded in mid-run calls its metrics by other names: they go on under the new names."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from rltui.run.metric_series import in_turn
from rltui.run.table import Series

ROWS, TURN = 120, 61


def rows(seed: int = 3) -> list[dict[str, float]]:
    rng = np.random.default_rng(seed)
    return [
        {
            "step": step,
            "reward": round(0.2 + 0.004 * step + float(rng.normal(0, 0.02)), 4),
            "kl": round(0.0005 * step, 5),
            "entropy": round(1.5 - 0.003 * step + float(rng.normal(0, 0.02)), 4),
            "loss": round(float(rng.normal(0, 0.02)), 4),
            "grad_norm": round(abs(float(rng.normal(0.5, 0.1))), 4),
        }
        for step in range(1, ROWS + 1)
    ]


def renamed(row: dict[str, float]) -> dict[str, float]:
    return {"rewards/mean" if key == "reward" else key: value for key, value in row.items()}


def write(folder: Path, lines: list[dict[str, float]]) -> Path:
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def said(run: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    main(["report", str(run), "--format", "json", *more])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def told_of_it(report: dict[str, Any]) -> list[str]:
    return [text for text in report["unknowns"] if "new name of" in text]


def test_it_goes_on_under_its_new_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    all_rows = rows()
    whole = said(write(tmp_path / "whole", all_rows), capsys)
    changed = said(write(tmp_path / "changed", [*all_rows[: TURN - 1], *map(renamed, all_rows[TURN - 1 :])]), capsys)
    assert changed["metrics"]["reward_mean"]["key"] == "rewards/mean"
    same = ("count", "first_value", "last_value", "first", "mid", "last", "min", "max", "slope_per_100_steps")
    for number in same:
        assert changed["metrics"]["reward_mean"][number] == whole["metrics"]["reward_mean"][number], number
    assert set(changed["metrics"]) == set(whole["metrics"])
    assert changed["verdict"]["decision"] == whole["verdict"]["decision"]
    assert changed["facts"]["score"] | {"key": "reward"} == whole["facts"]["score"]
    (text,) = told_of_it(changed)
    assert "rewards/mean" in text
    assert f"step {TURN} " in text
    assert not told_of_it(whole)


def test_a_fall_after_it_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    all_rows = rows()
    for row in all_rows[90:]:
        row["reward"] = 0.05
    run = write(tmp_path / "run", [*all_rows[: TURN - 1], *map(renamed, all_rows[TURN - 1 :])])
    found = {f["id"]: f for f in said(run, capsys)["findings"] if f["severity"] != "info"}
    assert found
    assert all(f["onset_step"] is None or f["onset_step"] >= 85 for f in found.values())


def test_a_resumed_run_that_repeats_rows_under_the_new_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    all_rows = rows()
    again = rows(4)[TURN - 11 :]  # resumed ten steps before
    told = said(write(tmp_path / "run", [*all_rows[: TURN - 1], *map(renamed, again)]), capsys)
    reward = told["metrics"]["reward_mean"]
    assert reward["count"] == ROWS
    assert reward["last_value"] == again[-1]["reward"]
    assert len(told_of_it(told)) == 1


def test_a_run_that_goes_back_to_the_old_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As it was resumed on a machine with an older trainer, and then on the first one again: no row is missing."""
    all_rows = rows()
    lines = [renamed(row) if 40 < row["step"] <= 80 else row for row in all_rows]
    told = said(write(tmp_path / "run", lines), capsys)
    reward = told["metrics"]["reward_mean"]
    assert (reward["key"], reward["count"]) == ("reward", ROWS)
    assert reward["last_value"] == all_rows[-1]["reward"]
    assert [f"step {step} " in text for step, text in zip((41, 81), told_of_it(told), strict=True)] == [True, True]


def test_names_in_turn_from_row_to_row_are_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [renamed(row) | {"rewards/mean": 0.1} if row["step"] % 2 else row for row in rows()]
    told = said(write(tmp_path / "run", lines), capsys)
    assert told["metrics"]["reward_mean"]["count"] == ROWS // 2
    assert not told_of_it(told)


def test_before_it_happened_nobody_knows_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    all_rows = rows()
    run = write(tmp_path / "run", [*all_rows[: TURN - 1], *map(renamed, all_rows[TURN - 1 :])])
    early = said(run, capsys, "--at", "40")
    assert early["metrics"]["reward_mean"]["count"] == 40
    assert not told_of_it(early)


def test_keys_that_are_logged_side_by_side_are_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = [row | {"rewards/mean": round(row["reward"] / 2, 4)} for row in rows()]
    lagging = [row if row["step"] > 30 else {k: v for k, v in row.items() if k != "rewards/mean"} for row in both]
    for name, lines in (("both", both), ("lagging", lagging)):
        told = said(write(tmp_path / name, lines), capsys)
        assert told["metrics"]["reward_mean"]["key"] == "reward", name
        assert not told_of_it(told), name


def test_the_mean_of_the_run_in_its_last_row_is_no_new_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [*rows(), {"step": ROWS + 1, "train_loss": 0.01, "rewards/mean": 0.4}]
    told = said(write(tmp_path / "run", lines), capsys)
    assert told["metrics"]["reward_mean"]["key"] == "reward"
    assert told["metrics"]["reward_mean"]["count"] == ROWS
    assert not told_of_it(told)


@pytest.mark.parametrize("gap", [1, 2])
def test_keys_side_by_side_are_told_without_a_look_at_all_rows(gap: int) -> None:
    """It is asked at each new row, so that 100,000 rows must not cost more than 100: nothing of their size is made."""
    long = np.arange(0, 200_000, gap)
    same = [Series(key, at, at * 1.0, at, at * 1.0) for key, at in (("a", long), ("b", long + gap - 1))]
    tracemalloc.start()
    try:
        assert in_turn(same) == []
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()
