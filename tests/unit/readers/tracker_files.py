"""Small files of the trackers, as their libraries write them: databases with sqlite3, a file store, SwanLab logs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.unit.readers_binary.encode import blocks, field

Row = tuple[int, Mapping[str, object]]
START_MS = 1_795_217_283_000
SWANLAB = b":SWL\xd6\xe1\x02"
SWANLAB_OLD = b":SWL\xd6\xe1\x01"


def trackio(path: Path, runs: Mapping[str, Sequence[Row]], *, wal: bool = False, old: bool = False) -> None:
    """A project of named runs; with `old`, one from before there were run ids."""
    connection = sqlite3.connect(path)
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
    run_id = "" if old else "run_id TEXT NOT NULL,"
    connection.execute(
        f"CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, {run_id} timestamp TEXT NOT NULL, "
        "run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL)"
    )
    if not old:
        connection.execute(
            "CREATE TABLE configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, "
            "run_name TEXT NOT NULL, config TEXT NOT NULL, created_at TEXT NOT NULL)"
        )
    for name, rows in runs.items():
        if not old:
            connection.execute(
                "INSERT INTO configs (run_id, run_name, config, created_at) VALUES (?, ?, ?, ?)",
                (f"id-{name}", name, json.dumps({"lr": 1e-5, "_Username": None}).encode(), _iso(0)),
            )
        add_trackio(connection, name, rows, old=old)
    connection.commit()
    connection.close()


def add_trackio(connection: sqlite3.Connection, name: str, rows: Sequence[Row], *, old: bool = False) -> None:
    for step, cells in rows:
        columns, marks = ("", "") if old else ("run_id, ", "?, ")
        connection.execute(
            f"INSERT INTO metrics ({columns}timestamp, run_name, step, metrics) VALUES ({marks}?, ?, ?, ?)",
            (*(() if old else (f"id-{name}",)), _iso(step), name, step, json.dumps(cells).encode()),
        )


def _iso(step: int) -> str:
    return f"2026-11-20T23:{step // 60 % 60:02d}:{step % 60:02d}.500000+00:00"


def mlflow(path: Path, runs: Mapping[str, Sequence[Row]], statuses: Mapping[str, str] | None = None) -> None:
    """A tracking database; infinities and NaN as MLflow stores them."""
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE runs (run_uuid VARCHAR(32) PRIMARY KEY, name VARCHAR(250), status VARCHAR(9), start_time BIGINT, "
        "end_time BIGINT, lifecycle_stage VARCHAR(20));"
        "CREATE TABLE metrics (key VARCHAR(250), value FLOAT, timestamp BIGINT, run_uuid VARCHAR(32), step BIGINT, "
        "is_nan BOOLEAN, PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan));"
        "CREATE TABLE params (key VARCHAR(250), value VARCHAR(8000), run_uuid VARCHAR(32));"
    )
    for number, (name, rows) in enumerate(runs.items()):
        start = START_MS + 100_000 * number
        status = (statuses or {}).get(name, "FINISHED")
        stage = "deleted" if status == "deleted" else "active"
        connection.execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", (f"id{name}", name, status, start, start, stage)
        )
        connection.execute("INSERT INTO params VALUES ('lr', '1e-05', ?)", (f"id{name}",))
        add_mlflow(connection, name, rows)
    connection.commit()
    connection.close()


def add_mlflow(connection: sqlite3.Connection, name: str, rows: Sequence[Row]) -> None:
    for step, cells in rows:
        for key, value in cells.items():
            x = float(str(value))
            stored = (0.0, 1) if x != x else (max(min(x, 1.7976931348623157e308), -1.7976931348623157e308), 0)
            connection.execute(
                "INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)",
                (key, stored[0], START_MS + 1000 * step, f"id{name}", step, stored[1]),
            )


def store(folder: Path, name: str, rows: Sequence[Row], status: int = 3) -> Path:
    """`mlruns/1/<run>` below a folder; returns the run's folder."""
    run = folder / "mlruns" / "1" / f"id{name}"
    (run / "params").mkdir(parents=True)
    (run / "metrics").mkdir()
    (run / "meta.yaml").write_text(
        f"artifact_uri: x\nend_time: {START_MS}\nexperiment_id: '1'\nlifecycle_stage: active\nrun_id: id{name}\n"
        f"run_name: {name}\nstart_time: {START_MS}\nstatus: {status}\ntags: []\n"
    )
    (run / "params" / "log_level").write_text("info")
    (run / "params" / "lr").write_text("1e-05")
    add_store(run, rows)
    return run


def add_store(run: Path, rows: Sequence[Row]) -> None:
    for step, cells in rows:
        for key, value in cells.items():
            path = run / "metrics" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write(f"{START_MS + 1000 * step} {value} {step}\n")


def swanlab(rows: Sequence[Row]) -> tuple[bytes, list[int]]:
    """A log of version 2, and the offset at which the last value of each row ends."""
    records = [
        field(1, 1)
        + field(10, field(1, "project") + field(4, "name") + field(10, "abc") + field(12, field(1, 1_700_000_000)))
    ]
    last = []
    for step, cells in rows:
        for key, value in cells.items():
            x = float(str(value))
            cell = field(1, x) if x else b""
            number = field(2, step) if step else b""
            time = field(4, field(1, 1_700_000_000 + step))
            records.append(field(1, len(records)) + field(13, field(1, key) + number + time + field(5, cell)))
        last.append(len(records) - 1)
    records.append(field(16, field(1, "a line of the console") + field(3, field(1, 1_700_000_100))))
    records.append(field(11, field(1, 1) + field(3, field(1, 1_700_000_200))))
    data, ends = blocks(records, SWANLAB)
    return data, [ends[i] for i in last]


def swanlab_old(rows: Sequence[Row]) -> bytes:
    """A log of version 1."""

    def record(kind: str, data: object) -> bytes:
        return (json.dumps({"model_type": kind, "data": data}) + "\n").encode()

    records = [record("Header", {"backup_type": "DEFAULT"}), record("Experiment", {"id": "abc", "name": "name"})]
    for step, cells in rows:
        for key, value in cells.items():
            metric = {"index": step, "data": value, "create_time": "2025-07-01T10:00:00.5+00:00"}
            records.append(record("Scalar", {"metric": metric, "key": key, "step": step, "epoch": step}))
    records.append(
        record("Log", {"create_time": "2025-07-01T10:00:01+00:00", "message": "hello", "epoch": 1, "level": "INFO"})
    )
    records.append(record("Footer", {"success": False, "create_time": "2025-07-01T10:00:02+00:00"}))
    return blocks(records, SWANLAB_OLD)[0]
