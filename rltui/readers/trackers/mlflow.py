"""Reads MLflow's runs from its tracking database (SQLite, one row for each value, several experiments and runs in one
file), or from its file store (one folder for each run, with a file for each metric and param, and `meta.yaml`).
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable
from math import inf, isfinite, isnan, nan

from rltui.readers.base import ConfigRecord, ContainedRun, Exit, HardwareRow, Record, Rows, RunInfo
from rltui.readers.config_file import flatten
from rltui.readers.lines import TOO_LONG, LineBuffer
from rltui.readers.rows import MAX_KEYS, TOO_MANY, number
from rltui.readers.trackers.sqlite_bytes import ERRORS, tables
from rltui.readers.wandb.rows import RecordedRows, seconds
from rltui.text import clean

_MAX_RUNS = 1000
_LARGEST = 1.797e308
"""MLflow stores an infinity as the largest float."""
SYSTEM = "system/"
"""Prefix of the keys of metrics that MLflow samples from the machine. These have their own count of steps."""

Value = tuple[str, float, int, int]
"""Key, value (NaN: not finite), milliseconds since the epoch, step."""
METRICS, PARAMS = "metrics", "params"
_LINE = re.compile(rb"(\d{1,19}) (\S{1,40})(?: (-?\d{1,19}))?\s*")
_FACT = re.compile(r"^(run_id|run_uuid|run_name|start_time|end_time|status|lifecycle_stage): (.*)$", re.MULTILINE)


def runs(connection: sqlite3.Connection) -> list[ContainedRun]:
    """The runs of a database that were not deleted, the oldest first. Empty if it is not an MLflow database."""
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
    """Reads one run of a tracking database: the values since the last read, params when they appear, and the run's
    end."""

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
    """Returns the name, start and end of an MLflow run when they change.

    MLflow closes open runs when Python exits. So a run is FINISHED if it ended well, and also if its process died of an
    exception. Only FAILED and KILLED show how a run ended; FINISHED only shows that it ended.
    """

    def __init__(self) -> None:
        self._told: tuple[object, ...] = ()
        self._ended = self._closed = False

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
        closed = str(status) in ("FINISHED", "3") and not isnan(seconds(end))
        if closed and not self._closed and not self._ended:
            out.append(Exit(0, seconds(end), well=False))
        self._closed = closed
        return out


class RecordedValues:
    """Makes rows from single values. The values of one call (equal step and time) are next to each other."""

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
    """A run's params as config. verl flattens its nested config with `/`."""
    return ConfigRecord(flatten({key.replace("/", "."): plain(text) for key, text in params}), "MLflow params")


def plain(text: str) -> object:
    """The value of a param, which MLflow keeps as text."""
    words: dict[str, object] = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    try:
        return int(text)
    except ValueError:
        x = number(text)
        return text if x is None or not isfinite(x) else x


def facts(meta: bytes) -> dict[str, str]:
    """The fields of a run's `meta.yaml`, as text; empty if the file does not belong to a run."""
    found = {key: value.strip().strip("'\"") for key, value in _FACT.findall(meta.decode("utf-8", "replace"))}
    return found if "status" in found and ("run_id" in found or "run_uuid" in found) else {}


def runs_in_store(meta: bytes) -> list[ContainedRun]:
    """The run to which this `meta.yaml` belongs. Empty if it is another file, or the run was deleted."""
    found = facts(meta)
    if not found or found.get("lifecycle_stage") == "deleted":
        return []
    run = found.get("run_id") or found["run_uuid"]
    return [ContainedRun("mlflow-files", run, clean(found.get("run_name") or run, 200), found.get("start_time", ""))]


class MlflowStoreReader:
    """Takes the new bytes of each file of a store. A metric's file has lines `milliseconds value step`."""

    format = "mlflow-files"
    whole = True

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._lines: dict[str, LineBuffer] = {}
        self._values = RecordedValues()
        self._about = MlflowRun()

    def read(
        self, meta: bytes, params: Iterable[tuple[str, bytes]], metrics: Iterable[tuple[str, bytes]]
    ) -> list[Record]:
        """Takes the whole `meta` (empty if unchanged), the whole new params, and for each metric the bytes after those
        given before. Names are the paths of the files below `params` and `metrics`, with `/`."""
        out: list[Record] = []
        if found := facts(meta):
            run = found.get("run_id") or found["run_uuid"]
            out += self._about.records(
                run, found.get("run_name"), found.get("start_time"), found["status"], found.get("end_time")
            )
        config = [(name, text.decode("utf-8", "replace").strip()) for name, text in params]
        if config:
            out.append(params_of(config))
        values: list[Value] = []
        for name, data in metrics:
            values += self._read(name, data)
        values.sort(key=lambda value: (value[2], value[3]))
        return [*out, *self._values.records(values)]

    def _read(self, name: str, data: bytes) -> list[Value]:
        buffer = self._lines.get(name)
        if buffer is None:
            if len(self._lines) >= MAX_KEYS:
                self._skip(TOO_MANY, name)
                return []
            buffer = self._lines[name] = LineBuffer()
        values: list[Value] = []
        lines = buffer.feed(data).split(b"\n")
        for _ in buffer.too_long:
            self._skip(TOO_LONG, name)
        for line in lines:
            if not line.strip():
                continue
            match = _LINE.fullmatch(line)
            x = number(match[2].decode("ascii", "replace")) if match else None
            if match is None or x is None:
                self._skip("line that is not a value", name)
                continue
            values.append((name, x if isfinite(x) else nan, int(match[1]), int(match[3] or 0)))
        return values

    def _skip(self, reason: str, where: str) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, clean(where, 300))
