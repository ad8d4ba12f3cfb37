"""When a row was written: stamps in every unit and spelling. A column called `time` may hold how long a step took."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest

from rltui.cli import main
from tests.unit.readers.reported import ends, reported

BEGIN = 1_767_225_600
ROWS = 60

STAMPS: dict[str, Callable[[int], object]] = {
    "seconds": lambda t: t,
    "milliseconds": lambda t: t * 10**3,
    "microseconds": lambda t: t * 10**6,
    "nanoseconds": lambda t: t * 10**9,
    "nanoseconds as text": lambda t: str(t * 10**9),
    "ISO": lambda t: datetime.fromtimestamp(t, UTC).isoformat(),
    "slashes": lambda t: datetime.fromtimestamp(t, UTC).strftime("%Y/%m/%d %H:%M:%S+00:00"),
    "e-mail": lambda t: format_datetime(datetime.fromtimestamp(t, UTC)),
}


def moment(row: int) -> int:
    return BEGIN + 31 * row


def as_table(rows: list[dict[str, object]]) -> str:
    return "\n".join([",".join(rows[0]), *(",".join(f'"{cell}"' for cell in row.values()) for row in rows)]) + "\n"


def as_lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


FORMS = {"csv": as_table, "jsonl": as_lines}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", ["timestamp", "time", "created_at", "@timestamp"])
@pytest.mark.parametrize("unit", STAMPS)
def test_a_stamp_in_any_unit(tmp_path: Path, unit: str, key: str, form: str) -> None:
    rows = [{"step": n, key: STAMPS[unit](moment(n)), "loss": 1 / n} for n in range(1, ROWS + 1)]
    path = tmp_path / f"run.{form}"
    path.write_text(FORMS[form](rows))
    report = reported(path)
    assert datetime.fromisoformat(report["as_of"]).timestamp() == moment(ROWS)
    assert set(report["metrics"]) == {"total_loss"}
    for suffix in ("csv", "parquet", "jsonl"):
        assert main(["export", str(path), "-o", str(tmp_path / f"out.{suffix}")]) == 0


@pytest.mark.parametrize("beside", [{}, {"timestamp": BEGIN}])
@pytest.mark.parametrize("form", FORMS)
def test_how_long_a_step_took_is_no_time(tmp_path: Path, form: str, beside: dict[str, int]) -> None:
    rows: list[dict[str, object]] = [
        {"step": n, "loss": 1 / n, "time": 30 + n / 100} | {key: moment(n) for key in beside}
        for n in range(1, ROWS + 1)
    ]
    path = tmp_path / f"run.{form}"
    path.write_text(FORMS[form](rows))
    report = reported(path)
    durations = [name for name in report["metrics"] if name != "total_loss"]
    assert len(durations) == 1
    assert ends(report, durations[0]) == (ROWS, 30.01, 30.6)
    if beside:
        assert datetime.fromisoformat(report["as_of"]).timestamp() == moment(ROWS)


@pytest.mark.parametrize("stamp", [10**30, 5 * 10**20, -(10**12), "Thu, 99 Foo 2026"])
def test_what_is_no_time_ends_nothing(tmp_path: Path, stamp: object) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(as_lines([{"step": n, "timestamp": stamp, "loss": 1 / n} for n in range(1, ROWS + 1)]))
    assert ends(reported(path), "total_loss")[0] == ROWS
    assert main(["export", str(path), "-o", str(tmp_path / "out.csv")]) == 0
