"""`rltui export`: what was logged comes out at its step, told from what was not, and reads as the same run again."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rltui.cli import main


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """verl's file logger: a validation every 5 steps, a gradient that is not finite at step 7."""
    rows = []
    for step in range(1, 41):
        data: dict[str, float] = {"critic/score/mean": step / 50, "actor/grad_norm": 0.5, "timing_s/step": 9.0}
        if step % 5 == 0:
            data["val-core/math/acc/mean@1"] = step / 80
        if step == 7:
            data["actor/grad_norm"] = float("nan")
        rows.append(json.dumps({"step": step, "data": data}))
    log = tmp_path / "run" / "metrics.jsonl"
    log.parent.mkdir()
    log.write_text("\n".join(rows) + "\n")
    return log


def exported(run: Path, out: Path) -> pl.DataFrame:
    assert main(["export", str(run), "-o", str(out)]) == 0
    return pl.read_parquet(out) if out.suffix == ".parquet" else pl.read_csv(out)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_missing_is_null_and_a_nan_is_a_nan(run: Path, tmp_path: Path, suffix: str) -> None:
    table = exported(run, tmp_path / f"out{suffix}")
    assert table["step"].to_list() == list(range(1, 41))
    assert table["score_mean"].to_list() == [step / 50 for step in range(1, 41)]
    assert [step for step, value in table.select("step", "val_score").iter_rows() if value is not None] == [
        *range(5, 41, 5)
    ]
    assert [step for step, value in table.select("step", "grad_norm").iter_rows() if isnan(value)] == [7]
    assert table["grad_norm"].null_count() == 0


def test_json_lines_hold_what_was_logged(run: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["export", str(run), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    assert len(rows) == 40
    assert rows[6]["grad_norm"] is None
    assert "val_score" not in rows[6]
    assert rows[9]["val_score"] == 10 / 80


def reported(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["report", str(path), "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_table_has_the_reports_names_and_reads_as_the_same_run(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy" / "history.csv"
    copy.parent.mkdir()
    table = exported(run, copy)
    first, again = reported(run, capsys), reported(copy, capsys)
    assert set(table.columns) - {"step", "time"} == set(first["metrics"])
    for name, metric in first["metrics"].items():
        same = ("count", "nan", "first", "last", "min", "max", "mean")
        assert {key: again["metrics"][name][key] for key in same} == {key: metric[key] for key in same}, name


def test_times_come_out_as_they_were(tmp_path: Path) -> None:
    log = tmp_path / "train.csv"
    rows = [f"{step},{1_760_000_000.25 + 60 * step},{step / 8}" for step in range(1, 30)]
    log.write_text("\n".join(["step,timestamp,reward", *rows]) + "\n")
    table = exported(log, tmp_path / "out.parquet")
    assert [when.timestamp() for when in table["time"]] == [1_760_000_000.25 + 60 * step for step in range(1, 30)]


@pytest.mark.parametrize("words", [["--format", "xml"], ["-o", "no/such/folder/x.csv"]])
def test_what_cannot_be_written_is_one_line(run: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(run), *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_of_several_runs_one_is_to_be_named(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other" / "metrics.jsonl"
    other.parent.mkdir()
    other.write_bytes(run.read_bytes())
    assert main(["export", str(tmp_path)]) == 2
    assert str(run.parent) in capsys.readouterr().err
