"""Reads trackio's project database: SQLite, with one row for each call of `log` and several runs in one file."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from math import isfinite, isnan

from rltui.readers.base import ConfigRecord, ContainedRun, HardwareRow, Note, Record, RunInfo
from rltui.readers.config_file import flatten
from rltui.readers.keys import time_of
from rltui.readers.rows import number
from rltui.readers.trackers.sqlite_bytes import ERRORS, tables
from rltui.readers.wandb.rows import RecordedRows
from rltui.text import clean

_MAX_RUNS = 1000
_LOGGED = {"run_name", "step", "metrics", "timestamp"}


def runs(connection: sqlite3.Connection) -> list[ContainedRun]:
    """The runs of a database, the oldest first. Empty if it is not a trackio database."""
    columns = tables(connection).get("metrics", frozenset())
    if not columns >= _LOGGED:
        return []
    key = _key(columns)
    try:
        found = connection.execute(
            f"SELECT {key}, max(run_name), min(timestamp) FROM metrics "
            f"GROUP BY {key} ORDER BY min(id) LIMIT {_MAX_RUNS}"
        ).fetchall()
    except ERRORS:
        return []
    return [ContainedRun("trackio", str(k), clean(str(name), 200), str(start)) for k, name, start in found]


def _key(columns: frozenset[str]) -> str:
    """The column that names the run: databases before 0.24 have no run_id."""
    return "run_id" if "run_id" in columns else "run_name"


class TrackioReader:
    """Reads one run of a project: metrics, config, alerts and system metrics, each from the end of the last read."""

    format = "trackio"
    whole = True

    def __init__(self, run: str) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._run = run
        self._seen: dict[str, int] = {}  # table -> id of the newest row that was read
        self._rows = RecordedRows()
        self._announced: str | None = None

    def read(self, connection: sqlite3.Connection) -> list[Record]:
        there = tables(connection)
        out: list[Record] = []
        for created_at, name, config in self._new(connection, there, "configs", "created_at", "run_name", "config"):
            tree = self._json(config, "configs")
            info = {"run_id": self._run, "name": clean(str(name), 200), "start_time": repr(time_of(created_at))}
            out.append(RunInfo(info if not isnan(time_of(created_at)) else {"run_id": self._run}))
            if tree:
                kept = {k: v for k, v in tree.items() if not str(k).startswith("_")}
                out.append(ConfigRecord(flatten(kept), "trackio config"))
        logged = [
            (step, time_of(time), tree)
            for step, time, metrics in self._new(connection, there, "metrics", "step", "timestamp", "metrics")
            if (tree := self._json(metrics, "metrics")) is not None
        ]
        out += self._rows.rows(logged)
        if self._rows.step_key != self._announced and self._rows.step_key is not None:
            self._announced = self._rows.step_key
            out.append(RunInfo({"step_key": self._announced}))
        for time, metrics in self._new(connection, there, "system_metrics", "timestamp", "metrics"):
            sample = _sample(self._json(metrics, "system_metrics") or {})
            if sample and not isnan(time_of(time)):
                out.append(HardwareRow(time_of(time), sample))
        for title, text, step, time in self._new(connection, there, "alerts", "title", "text", "step", "timestamp"):
            at = time_of(time)
            words = clean(": ".join(str(part) for part in (title, text) if part), 500)
            out.append(
                Note("warning", words, 0, step if isinstance(step, int) else None, time=None if isnan(at) else at)
            )
        return out

    def _new(
        self, connection: sqlite3.Connection, there: dict[str, frozenset[str]], table: str, *columns: str
    ) -> Iterator[tuple[object, ...]]:
        """The cells of this run's rows since the last read."""
        if not there.get(table, frozenset()) >= {"id", *columns}:
            return
        key = _key(there[table])
        try:
            found = connection.execute(
                f"SELECT id, {', '.join(columns)} FROM {table} WHERE id > ? AND {key} = ? ORDER BY id",
                (self._seen.get(table, -1), self._run),
            )
            for row in found:
                self._seen[table] = row[0]
                yield row[1:]
        except ERRORS as error:
            self._skip("damaged database", f"{table} after row {self._seen.get(table, 0)}: {clean(str(error), 100)}")

    def _json(self, value: object, table: str) -> dict[str, object] | None:
        try:
            tree = json.loads(value) if isinstance(value, str | bytes) else None
        except (ValueError, RecursionError):
            tree = None
        if isinstance(tree, dict):
            return tree
        self._skip("row that is not a JSON object", f"{table} row {self._seen[table]}")
        return None

    def _skip(self, reason: str, where: str) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, where)


def _sample(tree: dict[str, object]) -> dict[str, float]:
    sample = {clean(key, 300): number(value) for key, value in tree.items()}
    return {key: x for key, x in sample.items() if x is not None and isfinite(x)}
