"""Tables that are saved as columns, Parquet, Feather and Arrow, through the command line."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rltui.cli import main
from tests.unit.readers.reported import refused, reported

BEGIN = datetime(2026, 3, 5, 10, tzinfo=UTC)
WRITERS: dict[str, tuple[str, Callable[[pl.DataFrame, Path], Any]]] = {
    "parquet": ("metrics.parquet", lambda frame, path: frame.write_parquet(path)),
    "feather": ("history.feather", lambda frame, path: frame.write_ipc(path)),
    "arrow": ("train_log.arrow", lambda frame, path: frame.write_ipc_stream(path)),
}


def exported(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def history(rows: int = 60) -> pl.DataFrame:
    """As W&B gives it: most columns are empty in most rows, and a group has names of its own."""
    return pl.DataFrame(
        {
            "_step": range(rows),
            "_timestamp": [BEGIN + timedelta(seconds=13 * n) for n in range(rows)],
            "train/loss": [None if n == 7 else float("nan") if n == 9 else 1 / (n + 1) for n in range(rows)],
            "train/reward": pl.Series([n / 128 for n in range(rows)], dtype=pl.Float32),
            "eval": [{"acc": n / 256, "note": "so\nso"} if n % 5 == 0 else None for n in range(rows)],
            "lengths": [[1, 2]] * rows,
        }
    )


@pytest.mark.parametrize("kind", WRITERS)
def test_every_value_comes_back(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, write = WRITERS[kind]
    write(history(), tmp_path / name)
    rows = exported(tmp_path / name, capsys)
    assert [row["step"] for row in rows] == list(range(60))
    assert [row["reward_mean"] for row in rows] == [n / 128 for n in range(60)]
    losses = [1 / (n + 1) for n in range(60) if n not in (7, 9)]
    assert [row["total_loss"] for row in rows if row.get("total_loss") is not None] == losses
    assert "total_loss" not in rows[7]
    assert rows[9]["total_loss"] is None
    assert {row["step"]: row["val_score"] for row in rows if "val_score" in row} == {
        n: n / 256 for n in range(0, 60, 5)
    }
    assert rows[1]["time"] == "2026-03-05T10:00:13+00:00"
    source = reported(tmp_path / name)["run"]["sources"][0]
    assert (source["format"], source["rows"], source["skipped"]) == ("parquet" if kind == "parquet" else "arrow", 60, 1)
    assert "column of lists" in source["note"]


@pytest.mark.parametrize("kind", WRITERS)
def test_beside_data_sets_it_is_the_run(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, write = WRITERS[kind]
    prompts = pl.DataFrame(
        {"prompt": ["What is 2 + 2?"] * 30, "answer": ["4"] * 30, "step": range(30), "hard": [0.5] * 30}
    )
    prompts.write_parquet(tmp_path / "train.parquet")
    prompts.write_parquet(tmp_path / "metrics_data.parquet")
    prompts.write_ipc_stream(tmp_path / "data-00000-of-00001.arrow")
    write(history(), tmp_path / name)
    assert [row["reward_mean"] for row in exported(tmp_path, capsys)] == [n / 128 for n in range(60)]


def test_of_any_name_if_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history().write_parquet(tmp_path / "abc.parquet")
    assert len(exported(tmp_path / "abc.parquet", capsys)) == 60


def test_of_several_runs_one_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = [history(n).with_columns(run=pl.lit(name)) for name, n in (("a", 20), ("b", 30))]
    pl.concat(two).drop("eval", "lengths").write_parquet(tmp_path / "metrics.parquet")
    assert "holds 2 runs" in refused_text(tmp_path / "metrics.parquet")
    capsys.readouterr()
    assert main(["export", f"{tmp_path}/metrics.parquet#b", "--format", "jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 30


def refused_text(path: Path) -> str:
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        assert main(["report", str(path)]) == 2
    return err.getvalue()


@pytest.mark.parametrize("kind", WRITERS)
def test_a_half_written_one_is_refused(kind: str, tmp_path: Path) -> None:
    name, write = WRITERS[kind]
    write(history(), tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 3])
    assert "no training log recognised" in refused(tmp_path / name)
