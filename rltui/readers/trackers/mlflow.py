"""MLflow's tracking database: SQLite, one row a value, several experiments and runs in one file."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from math import inf, isfinite, isnan, nan

from rltui.readers.base import ConfigRecord, ContainedRun, Exit, HardwareRow, Record, Rows, RunInfo
from rltui.readers.config_file import flatten
from rltui.readers.rows import number
from rltui.readers.trackers.rows import RecordedRows, seconds
from rltui.readers.trackers.sqlite_bytes import ERRORS, tables
from rltui.text import clean

_MAX_RUNS = 1000
_LARGEST = 1.797e308
"""MLflow stores an infinity as the largest float."""
SYSTEM = "system/"
"""Metrics that MLflow samples from the machine, against a step of their own."""

Value = tuple[str, float, int, int]
"""Key, value (NaN: not finite), milliseconds since the epoch, step."""


def runs(connection: sqlite3.Connection) -> list[ContainedRun]:
    """The runs of a database that were not deleted, the oldest first; none where it is no MLflow database."""
    there = tables(connection)
    if not (
        there.get("runs", frozenset()) >= {"run_uuid", "name", "start_time", "lifecycle_stage"}
        and there.get("metrics", frozenset()) >= {"run_uuid", "key", "value", "timestamp", "step", "is_nan"}
    ):
        return []
    try:
        found = connection.execute(
            "SELECT run_uuid, name, start_time FROM runs WHERE lifecycle_stage IS NOT 'deleted' "
            f"AND run_uuid IN (SELECT DISTINCT run_uuid FROM metrics) ORDER BY start_time LIMIT {_MAX_RUNS}"
        ).fetchall()
    except ERRORS:
        return []
    return [ContainedRun("mlflow", str(k), clean(str(name or k), 200), str(start)) for k, name, start in found]


class MlflowReader:
    """One run of a tracking database: values from where the last read ended, params as they appear, its end."""

    format = "mlflow"
    whole = True

    def __init__(self, run: str) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._run = run
        self._newest = -1  # rowid of the newest value that was read
        self._params: dict[str, str] = {}
        self._values = RecordedValues()
        self._about = MlflowRun()

    def read(self, connection: sqlite3.Connection) -> list[Record]:
        out: list[Record] = []
        try:
            row = connection.execute(
                "SELECT name, start_time, status, end_time FROM runs WHERE run_uuid = ?", (self._run,)
            ).fetchone()
            if row is not None:
                out += self._about.records(self._run, *row)
            params = connection.execute("SELECT key, value FROM params WHERE run_uuid = ?", (self._run,))
            found = {str(key): str(value) for key, value in params}
            if found != self._params:
                self._params = found
                out.append(params_of(found.items()))
        except ERRORS as error:
            self._skip(f"runs or params: {clean(str(error), 100)}")
        values: list[Value] = []
        try:
            for rowid, key, value, is_nan, time, step in connection.execute(
                "SELECT rowid, key, value, is_nan, timestamp, step FROM metrics "
                "WHERE rowid > ? AND run_uuid = ? ORDER BY rowid",
                (self._newest, self._run),
            ):
                self._newest = rowid
                x = number(value)
                if x is not None and isinstance(time, int) and isinstance(step, int):
                    values.append((str(key), nan if is_nan or abs(x) > _LARGEST else x, time, step))
        except ERRORS as error:
            self._skip(f"metrics after row {self._newest}: {clean(str(error), 100)}")
        return [*out, *self._values.records(values)]

    def _skip(self, where: str) -> None:
        self.skipped["damaged database"] += 1
        self.skipped_at.setdefault("damaged database", where)


class MlflowRun:
    """Name, start and end of an MLflow run, told when they change.

    A run that ended well and one whose process died of an exception are both FINISHED (MLflow closes open runs when
    Python exits), so only FAILED and KILLED say how it ended.
    """

    def __init__(self) -> None:
        self._told: tuple[object, ...] = ()
        self._ended = False

    def records(self, run: str, name: object, start: object, status: object, end: object) -> list[Record]:
        out: list[Record] = []
        if (name, start) != self._told:
            self._told = (name, start)
            info = {"run_id": clean(run, 100), "name": clean(str(name or ""), 200)}
            if not isnan(seconds(start)):
                info["start_time"] = repr(seconds(start))
            out.append(RunInfo({k: v for k, v in info.items() if v}))
        if not self._ended and str(status) in ("FAILED", "KILLED", "4", "5"):
            self._ended = True
            out.append(Exit(1, None if isnan(seconds(end)) else seconds(end)))
        return out


class RecordedValues:
    """Single values to rows: those of one call (equal step and time) stand together."""

    def __init__(self) -> None:
        self._rows = RecordedRows()

    def records(self, values: Iterable[Value]) -> list[Record]:
        records: list[tuple[object, float, dict[str, object]]] = []
        samples: dict[int, dict[str, float]] = {}
        last: tuple[int, int] | None = None
        for key, value, time, step in values:
            if key.startswith(SYSTEM):
                if isfinite(value):
                    samples.setdefault(time, {})[clean(key.removeprefix(SYSTEM), 300)] = value
                continue
            if (time, step) != last:
                last = (time, step)
                records.append((step, seconds(time), {}))
            records[-1][2][key] = value if value == value else inf
        rows: list[Rows] = self._rows.rows(records)
        hardware = [HardwareRow(seconds(t), s) for t, s in sorted(samples.items()) if not isnan(seconds(t))]
        return [*rows, *hardware]


def params_of(params: Iterable[tuple[str, str]]) -> ConfigRecord:
    """A run's params; verl flattens its nested config with `/`."""
    return ConfigRecord(flatten({key.replace("/", "."): plain(text) for key, text in params}), "MLflow params")


def plain(text: str) -> object:
    """A param, which MLflow keeps as text, as the value it was."""
    words: dict[str, object] = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    try:
        return int(text)
    except ValueError:
        x = number(text)
        return text if x is None or not isfinite(x) else x
