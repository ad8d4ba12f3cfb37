"""Numbers with a unit in the cells of a table or the texts of JSON are the numbers that a line of a log with the same
text would state."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.readers.reported import ends, refused, reported

Write = Callable[[Path, list[dict[str, str]]], Path]
N = 24

CELLS = {
    "percent": ("accuracy", lambda i: f"{20 + i}.5%", lambda i: (20.5 + i) / 100),
    "spaced percent": ("accuracy", lambda i: f"{20 + i} %", lambda i: (20 + i) / 100),
    "seconds": ("step_time", lambda i: f"{30 + i}.2s", lambda i: 30.2 + i),
    "milliseconds": ("step_time", lambda i: f"{900 + i} ms", lambda i: (900 + i) / 1000),
    "minutes": ("step_time", lambda i: f"0.{50 + i} min", lambda i: (0.5 + i / 100) * 60),
    "parts": ("step_time", lambda i: f"1m{i % 60}s", lambda i: 60 + i % 60),
    "clock": ("step_time", lambda i: f"0:01:{i % 60:02d}", lambda i: 60 + i % 60),
    "thousands": ("tokens_per_sec", lambda i: f"{10 + i}.4k", lambda i: 1000 * (10.4 + i)),
    "memory": ("gpu_memory", lambda i: f"{60 + i} GB", lambda i: 60 + i),
    "megabytes": ("gpu_memory", lambda i: f"{1024 * (40 + i)} MiB", lambda i: 40 + i),
}


def csv(tmp_path: Path, rows: list[dict[str, str]]) -> Path:
    path = tmp_path / "progress.csv"
    path.write_text("\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]) + "\n")
    return path


def jsonl(tmp_path: Path, rows: list[dict[str, str]]) -> Path:
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def values(report: dict[str, object], key: str) -> tuple[int, float, float]:
    metrics = report["metrics"]
    assert isinstance(metrics, dict)
    name = next(name for name, one in metrics.items() if one["key"] == key)
    return ends(report, name)


@pytest.mark.parametrize("write", [csv, jsonl])
@pytest.mark.parametrize("kind", CELLS)
def test_a_cell_with_a_unit_is_its_number(tmp_path: Path, kind: str, write: Write) -> None:
    name, text, number = CELLS[kind]
    rows = [{"step": str(i), "reward": f"0.{300 + i}", name: text(i)} for i in range(1, N + 1)]
    count, first, last = values(reported(write(tmp_path, rows)), name)
    assert (count, first, last) == (N, pytest.approx(number(1)), pytest.approx(number(N)))


@pytest.mark.parametrize("write", [csv, jsonl])
@pytest.mark.parametrize("kind", CELLS)
def test_a_line_says_the_same(tmp_path: Path, kind: str, write: Write) -> None:
    name, text, _ = CELLS[kind]
    rows = [{"step": str(i), "reward": f"0.{300 + i}", name: text(i)} for i in range(1, N + 1)]
    log = tmp_path / "lines" / "train.log"
    log.parent.mkdir()
    log.write_text("".join(f"step {row['step']} | reward={row['reward']} | {name}={row[name]}\n" for row in rows))
    of_line = values(reported(log), name)
    assert values(reported(write(tmp_path, rows)), name) == pytest.approx(of_line)


@pytest.mark.parametrize("write", [csv, jsonl])
def test_a_file_with_nothing_but_units_is_read(tmp_path: Path, write: Write) -> None:
    names = ("percent", "seconds", "thousands")
    rows = [{"step": str(i)} | {CELLS[k][0]: CELLS[k][1](i) for k in names} for i in range(1, N + 1)]
    read = reported(write(tmp_path, rows))
    assert read["run"]["steps"]["rows"] == N
    for kind in names:
        assert values(read, CELLS[kind][0])[1] == pytest.approx(CELLS[kind][2](1))


def test_a_name_that_states_the_unit_converts_it_once(tmp_path: Path) -> None:
    rows = [{"step": str(i), "reward": f"0.{300 + i}", "step_time_ms": f"{900 + i}ms"} for i in range(1, N + 1)]
    log = tmp_path / "train.log"
    log.write_text(
        "".join(f"step {row['step']} | reward={row['reward']} | step_time_ms={row['step_time_ms']}\n" for row in rows)
    )
    assert values(reported(jsonl(tmp_path / ".", rows)), "step_time_ms") == values(reported(log), "step_time_ms")


@pytest.mark.parametrize(
    "text",
    [
        "2025-03-01",
        "10:20:30",
        "v1.2s",
        "12 of 30",
        "3 apples",
        "sample 3 of 8 took 2s",
        "5m",
        "1.2.3",
        "7B",
        "4x",
        "A100",
        "%",
        "s",
    ],
)
def test_other_texts_with_digits_are_no_numbers(tmp_path: Path, text: str) -> None:
    rows = [{"step": str(i), "reward": f"0.{300 + i}", "note": text} for i in range(1, N + 1)]
    read = reported(jsonl(tmp_path, rows))
    assert [one["key"] for one in read["metrics"].values()] == ["reward"]


def test_samples_of_a_step_are_averaged_with_their_units(tmp_path: Path) -> None:
    rows = [{"step": str(i), "reward": f"0.{300 + i}", "share": f"{10 * k}%"} for i in range(1, N) for k in (1, 2, 3)]
    assert values(reported(jsonl(tmp_path, rows)), "share") == (N - 1, pytest.approx(0.2), pytest.approx(0.2))


def test_a_table_of_prices_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "shop.csv"
    path.write_text("item,weight,discount\n" + "".join(f"{i},{i} kg,{i}%\n" for i in range(1, N)))
    assert "no training log" in refused(path)


def test_many_rows_are_read_alike(tmp_path: Path) -> None:
    rows = [
        {"step": str(i), "reward": "0.5", "accuracy": f"{i % 97}.5%", "step_time": f"{30 + i % 7}.2s"}
        for i in range(1, 6001)
    ]
    for write in (csv, jsonl):
        read = reported(write(tmp_path, rows))
        assert values(read, "accuracy") == (6000, pytest.approx(0.015), pytest.approx((6000 % 97 + 0.5) / 100))
        assert values(read, "step_time") == (6000, pytest.approx(31.2), pytest.approx(30.2 + 6000 % 7))
