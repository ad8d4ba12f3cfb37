"""Reads SwanLab's log (`run-ID.swanlab`, `backup.swanlab`): records in LevelDB blocks, one for each value.

Version 2 (0.10) writes protobuf, version 1 (0.6) lines of JSON `{"model_type", "data"}`. The record itself shows
which.
"""

from __future__ import annotations

from collections import Counter
from math import isfinite, isnan, nan

import orjson

from rltui.readers.base import Exit, HardwareRow, Record, RunInfo
from rltui.readers.keys import time_of
from rltui.readers.literals import finite_or_marked
from rltui.readers.protobuf import WireError, double, fields, last, signed, text, timestamp
from rltui.readers.rows import RowBuilder, number
from rltui.readers.wandb.blocks import BlockLog
from rltui.readers.wandb.reader import CapturedConsole
from rltui.text import clean

IDENT = b":SWL\xd6\xe1"
SYSTEM = "__swanlab__."
"""Prefix of the keys of the machine's samples."""
_START, _FINISH, _SCALAR, _LOG = 10, 11, 13, 16
_ENDS = {1: 0, 2: 1, 3: 130}  # finished, crashed, aborted -> exit code
_MAX_STEP = 1 << 53


class SwanlabReader:
    """Reads the scalars, identity, captured console, samples of the machine and the end of one run.

    If the trainer gives no step, SwanLab numbers the calls of `log`, and this number is the step.
    """

    format = "swanlab"
    whole = False

    def __init__(self) -> None:
        self._blocks = BlockLog(IDENT)
        self.skipped: Counter[str] = self._blocks.skipped
        self.skipped_at: dict[str, str] = self._blocks.skipped_at
        self._rows = RowBuilder(self.skipped, self.skipped_at)
        self._console = CapturedConsole()
        self._records = 0
        self._step = -1
        self._time = nan
        self._cells: dict[str, object] = {}
        self._samples: dict[str, float] = {}  # of the machine, at one time
        self._sampled = nan

    def feed(self, data: bytes) -> list[Record]:
        out: list[Record] = []
        ends: list[Record] = []
        for record in self._blocks.feed(data):
            self._records += 1
            try:
                for found in self._json(record) if record[:1] == b"{" else self._message(record):
                    (ends if isinstance(found, Exit) else out).append(found)
            except (WireError, ValueError, RecursionError):
                self._skip("undecodable record")
        self._close_row()
        return [*out, *self._console.flush(), *self._close_sample(), *self._rows.take(), *ends]

    def finish(self) -> list[Record]:
        return self._console.finish()

    def _skip(self, reason: str) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, f"record {self._records}")

    # -- records ---------------------------------------------------------------------------------------------------

    def _message(self, record: bytes) -> list[Record]:
        out: list[Record] = []
        for kind, _, value in fields(record):
            if not isinstance(value, bytes):
                continue
            if kind == _SCALAR:
                cell = last(value, 5)
                if isinstance(cell, bytes):
                    x = double(last(cell, 1))
                    step = last(value, 2)
                    time = timestamp(last(value, 4))
                    out += self._scalar(
                        text(last(value, 1)),
                        signed(step) if isinstance(step, int) else 0,
                        nan if time is None else time,
                        0.0 if x is None else finite_or_marked(x),
                    )
            elif kind == _LOG:
                line = text(last(value, 1))
                out += self._line(line, timestamp(last(value, 3)))
            elif kind == _START:
                found = {
                    name: clean(text(last(value, n)), 200) for n, name in ((10, "run_id"), (4, "name"), (1, "project"))
                }
                start = timestamp(last(value, 12))
                found["start_time"] = repr(start) if start is not None else ""
                out.append(RunInfo({k: v for k, v in found.items() if v}))
            elif kind == _FINISH:
                state = last(value, 1)
                if isinstance(state, int) and state in _ENDS:
                    out.append(Exit(_ENDS[state], timestamp(last(value, 3))))
        return out

    def _json(self, record: bytes) -> list[Record]:
        tree = orjson.loads(record)
        kind, data = tree.get("model_type"), tree.get("data")
        if not isinstance(data, dict):
            raise ValueError("no data")
        if kind == "Scalar":
            metric, step = data.get("metric"), data.get("step")
            if not isinstance(metric, dict) or not isinstance(step, int) or not isinstance(data.get("key"), str):
                raise ValueError("no scalar")
            x = number(metric.get("data"))
            if x is None:
                return []
            return self._scalar(data["key"], step, time_of(metric.get("create_time")), finite_or_marked(x))
        if kind == "Log":
            time = time_of(data.get("create_time"))
            return self._line(str(data.get("message", "")), None if isnan(time) else time)
        if kind in ("Project", "Experiment"):
            names = {"Project": {"name": "project"}, "Experiment": {"id": "run_id", "name": "name"}}[kind]
            found = {to: clean(str(data[name]), 200) for name, to in names.items() if data.get(name)}
            return [RunInfo(found)] if found else []
        if kind == "Footer":
            time = time_of(data.get("create_time"))
            return [Exit(0 if data.get("success") else 1, None if isnan(time) else time)]
        return []

    # -- values ----------------------------------------------------------------------------------------------------

    def _scalar(self, key: str, step: int, time: float, value: float) -> list[Record]:
        if key.startswith(SYSTEM):
            out = self._close_sample() if time != self._sampled else []
            self._sampled = time
            if isfinite(value):
                self._samples[clean(key.removeprefix(SYSTEM), 300)] = value
            return out
        if not 0 <= step < _MAX_STEP:
            self._skip("value of an impossible step")
            return []
        self._console.history_seen()
        if step != self._step or key in self._cells:
            self._close_row()
        self._step = step
        self._cells[key] = value
        if not isnan(time):
            self._time = time
        return []

    def _close_row(self) -> None:
        if self._cells:
            self._rows.add(self._step, self._cells, self._time)
        self._cells, self._time = {}, nan

    def _close_sample(self) -> list[Record]:
        samples, self._samples = self._samples, {}
        return [HardwareRow(self._sampled, samples)] if samples and not isnan(self._sampled) else []

    def _line(self, line: str, time: float | None) -> list[Record]:
        return self._console.feed(line.encode("utf-8", "replace") + b"\n", time)
