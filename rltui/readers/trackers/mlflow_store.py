"""MLflow's file store: a folder a run, with a file for each metric, param and the run's `meta.yaml`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from math import isfinite, nan

from rltui.readers.base import ContainedRun, Record
from rltui.readers.lines import TOO_LONG, LineBuffer
from rltui.readers.rows import MAX_KEYS, TOO_MANY, number
from rltui.readers.trackers.mlflow import MlflowRun, RecordedValues, Value, params_of
from rltui.text import clean

METRICS, PARAMS = "metrics", "params"
_LINE = re.compile(rb"(\d{1,19}) (\S{1,40})(?: (-?\d{1,19}))?\s*")
_FACT = re.compile(r"^(run_id|run_uuid|run_name|start_time|end_time|status|lifecycle_stage): (.*)$", re.MULTILINE)


def facts(meta: bytes) -> dict[str, str]:
    """What `meta.yaml` says of a run, as text; empty where it is no run's."""
    found = {key: value.strip().strip("'\"") for key, value in _FACT.findall(meta.decode("utf-8", "replace"))}
    return found if "status" in found and ("run_id" in found or "run_uuid" in found) else {}


def runs(meta: bytes) -> list[ContainedRun]:
    """The run whose `meta.yaml` this is; none where it is another file, or the run was deleted."""
    found = facts(meta)
    if not found or found.get("lifecycle_stage") == "deleted":
        return []
    run = found.get("run_id") or found["run_uuid"]
    return [ContainedRun("mlflow-files", run, clean(found.get("run_name") or run, 200), found.get("start_time", ""))]


class MlflowStoreReader:
    """Takes the new bytes of each file of the store. A metric is a file of lines `milliseconds value step`."""

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
        """`meta` whole (empty: unchanged); params that are new, whole; of each metric the bytes after those given
        before. Names are those of the files below `params` and `metrics`, with `/`."""
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
                self._skip("line that is no value", name)
                continue
            values.append((name, x if isfinite(x) else nan, int(match[1]), int(match[3] or 0)))
        return values

    def _skip(self, reason: str, where: str) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, clean(where, 300))
