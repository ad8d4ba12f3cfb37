"""Reads W&B's transaction log (`run-ID.wandb`): protobuf records in LevelDB blocks. Some of them hold raw pieces of the
console output that W&B captured.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from math import isfinite

from rltui.readers.base import ConfigRecord, Exit, HardwareRow, LogLine, Note, Reader, Record, Rows, RunInfo
from rltui.readers.config_file import flatten
from rltui.readers.console.reader import ConsoleReader
from rltui.readers.literals import number
from rltui.readers.protobuf import WireError, fields, last, messages, signed, text, timestamp
from rltui.readers.wandb.blocks import BlockLog
from rltui.readers.wandb.history import Messages, in_records
from rltui.readers.wandb.rows import HistoryRows
from rltui.text import clean

ENOUGH_ROWS = 3
"""After this many console rows without a history row, the run logs no history: a history row would be one step late,
not three."""

TOGETHER = 100
"""The most pieces that are read at once: the console reader returns a limited number of lines for one text."""

HEADER = b":W&B\xe1\xbe\x00"
_HISTORY, _SUMMARY, _CONFIG, _STATS, _METRIC, _OUTPUT_RAW = 2, 3, 5, 7, 12, 13
_RUN, _EXIT, _ENVIRONMENT = 17, 18, 26
_ENVIRONMENT_FIELDS = {2: "python", 12: "host", 18: "gpu", 19: "gpu_count"}
_SLICE = 1 << 22
"""The most bytes that are decoded at once. This bounds the memory, however large the pieces that are fed."""


def _second(time: float | None) -> int | None:
    return None if time is None else int(time)


class CapturedConsole:
    """Turns captured text into records, through a console reader. Both streams go to one reader in the order of their
    records, as they went to the terminal, because the progress bars on stderr give the steps of the lines on stdout.

    Lines and notes are returned as they come. The other records (step lines, a printed config) repeat what history and
    config records hold with more digits. They are held back, and only returned if there is no history.
    """

    def __init__(self) -> None:
        self._reader: Reader | None = None
        self._pieces: list[bytes] = []  # the pieces of one second, not read yet
        self._time: float | None = None  # of the first piece
        self._held: list[Record] = []
        self._held_rows = 0
        self._needed: bool | None = None  # None: not known yet

    def history_seen(self) -> None:
        if self._needed is None:
            self._needed = False
            self._held.clear()

    def feed(self, text: bytes, time: float | None) -> list[Record]:
        """Takes a piece of output. Pieces of the same second are read together: a progress bar writes thousands."""
        out: list[Record] = []
        if self._pieces and (len(self._pieces) >= TOGETHER or _second(time) != _second(self._time)):
            out = self.flush()
        if not self._pieces:
            self._time = time
        self._pieces.append(text)
        return out

    def flush(self) -> list[Record]:
        """Reads the waiting pieces."""
        if not self._pieces:
            return []
        if self._reader is None:
            self._reader = ConsoleReader("console")
        text, self._pieces = b"".join(self._pieces), []
        return self._sort(self._reader.feed(text), self._time)

    def finish(self) -> list[Record]:
        out = self.flush()
        if self._reader is not None:
            out += self._sort(self._reader.finish(), None)
        return out + self._release()

    def _release(self) -> list[Record]:
        self._needed = True if self._held_rows else self._needed
        held, self._held = self._held, []
        return held if self._needed else []

    def _sort(self, records: list[Record], time: float | None) -> list[Record]:
        out: list[Record] = []
        for record in records:
            if isinstance(record, LogLine | Note):
                out.append(record._replace(line=0, time=time if record.time is None else record.time))
            elif self._needed is not False:
                if isinstance(record, Rows):
                    self._held_rows += len(record)
                    if time is not None:
                        for i, known in enumerate(record.times):
                            if known != known:
                                record.times[i] = time
                elif isinstance(record, ConfigRecord):
                    record = record._replace(origin=f"console in W&B: {record.origin}")
                self._held.append(record)
        if self._needed or self._held_rows >= ENOUGH_ROWS:
            out += self._release()
        return out


class WandbReader:
    """Reads the history, config, identity, captured console, recorded hardware and exit of one W&B run.

    A record that is cut off at the end of the file waits for its rest. If a checksum is wrong, the rest of its block of
    32 KiB is lost, and this is counted.
    """

    format = "wandb"
    whole = False

    def __init__(self) -> None:
        self._blocks = BlockLog(HEADER, unwanted=_SUMMARY << 3 | 2)
        self.skipped: Counter[str] = self._blocks.skipped
        self.skipped_at: dict[str, str] = self._blocks.skipped_at
        self._rows = HistoryRows()
        self._console = CapturedConsole()
        self._waiting: list[bytes] = []  # history messages, decoded together with those that follow
        self._declared: str | None = None  # the step key declared for the next row on
        self._records = 0
        self._start: float | None = None
        self._step_key: str | None = None

    def feed(self, data: bytes) -> list[Record]:
        out: list[Record] = []
        for begin in range(0, len(data), _SLICE):
            piece = data if len(data) <= _SLICE else data[begin : begin + _SLICE]
            others: list[Record] = []
            rows: list[Record] = []
            self._take_records(self._blocks.feed(piece), others, rows)
            others += self._console.flush()
            out += [r for r in others if not isinstance(r, Exit)]
            out += rows
            out += [r for r in others if isinstance(r, Exit)]
        return out

    def _take_records(self, records: list[bytes], others: list[Record], rows: list[Record]) -> None:
        """Decodes history of the usual shape together, up to a record that declares how its steps are read."""
        history, odd = in_records(records, _HISTORY << 3 | 2)
        before, begun = self._records, 0
        for count, i in enumerate(odd.tolist()):
            usual = history[begun : i - count]
            if len(usual):
                self._console.history_seen()
            self._records = before + i + 1
            messages: list[bytes] = []
            try:
                self._take(records[i], others, messages)
            except WireError:
                self._skip("undecodable record", f"record {self._records}")
            if messages:
                self._waiting += [*usual.each(), *messages]
                begun = i - count
            if self._declared is not None:
                self._decode(history[begun : i - count], rows)
                begun = i - count
                self._rows.step_key, self._declared = self._declared, None
                rows += self._announce_step_key()  # after the key of the earlier rows
        self._records = before + len(records)
        if begun < len(history):
            self._console.history_seen()
        self._decode(history[begun:], rows)

    def finish(self) -> list[Record]:
        return self._console.finish()

    def _skip(self, reason: str, where: str) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, where)

    def _take(self, record: bytes, others: list[Record], history: list[bytes]) -> None:
        """Takes one record of the log. Only its payload matters, not its other fields (control, uuid, number)."""
        for kind, _, value in fields(record):
            if not isinstance(value, bytes):
                continue
            if kind == _HISTORY:
                self._console.history_seen()
                history.append(value)
            elif kind == _OUTPUT_RAW:
                others += self._output(value)
            elif kind == _STATS:
                others += _stats(value)
            elif kind == _CONFIG:
                others += _config(value, "wandb config")
            elif kind == _RUN:
                others += self._run(value)
            elif kind == _METRIC:
                if text(last(value, 2)) == "*" and last(value, 4):
                    self._declared = clean(text(last(value, 4)))
            elif kind == _EXIT:
                others.append(self._exit(value))
            elif kind == _ENVIRONMENT:
                others += _environment(value)

    def _decode(self, history: Messages, rows: list[Record]) -> None:
        """Adds the rows of the waiting history messages and of those after them."""
        if self._waiting:
            history = Messages.joined([*self._waiting, *history.each()])
            self._waiting = []
        if not len(history):
            return
        before = self._rows.undecodable
        rows += self._rows.rows(history)
        for _ in range(self._rows.undecodable - before):
            self._skip("undecodable record", f"record {self._records}")
        rows += self._announce_step_key()

    def _announce_step_key(self) -> list[Record]:
        if self._rows.step_key == self._step_key or self._rows.step_key is None:
            return []
        self._step_key = self._rows.step_key
        return [RunInfo({"step_key": self._step_key})]

    def _output(self, value: bytes) -> list[Record]:
        line = last(value, 3)
        return self._console.feed(line, timestamp(last(value, 2))) if isinstance(line, bytes) else []

    def _run(self, value: bytes) -> list[Record]:
        info = {
            name: clean(text(last(value, number_)))
            for name, number_ in (("run_id", 1), ("name", 8), ("project", 3), ("host", 13))
        }
        start = timestamp(last(value, 17))
        if start is not None:
            self._start = start
            info["start_time"] = repr(start)
        config = [r for c in messages(value, 4) for r in _config(c, "wandb config")]
        return [RunInfo({k: v for k, v in info.items() if v}), *config]

    def _exit(self, value: bytes) -> Exit:
        code, runtime = last(value, 1), last(value, 2)
        end = self._start + runtime if self._start is not None and isinstance(runtime, int) else None
        return Exit(signed(code) if isinstance(code, int) else 0, end)


def _items(value: bytes, number_: int) -> Iterator[tuple[list[str], bytes]]:
    """The path and JSON text of each `{key=1, nested_key=2, value_json=16}` item."""
    for item in messages(value, number_):
        path: list[str] = []
        json_text = b""
        for field, _, inner in fields(item):
            if isinstance(inner, bytes) and inner:
                if field in (1, 2):
                    path.append(text(inner))
                elif field == 16:
                    json_text = inner
        if path:
            yield path, json_text


def _config(value: bytes, origin: str) -> list[Record]:
    tree: dict[object, object] = {}
    for path, json_text in _items(value, 1):
        if path[0] != "_wandb":
            try:
                tree[".".join(path)] = json.loads(json_text)
            except (ValueError, RecursionError):
                continue
    try:
        return [ConfigRecord(flatten(tree), origin)] if tree else []
    except RecursionError:  # thousands of brackets
        return []


def _stats(value: bytes) -> list[Record]:
    time = timestamp(last(value, 2))
    if time is None:
        return []
    values: dict[str, float] = {}
    for path, json_text in _items(value, 3):
        sample = number(json_text)
        if sample is not None and isfinite(sample):
            values[_sample_name(".".join(path))] = sample
    return [HardwareRow(time, values)] if values else []


@lru_cache(4096)
def _sample_name(name: str) -> str:
    return clean(name)


def _environment(value: bytes) -> list[Record]:
    found: dict[str, str] = {}
    for field, _, inner in fields(value):
        if field in _ENVIRONMENT_FIELDS and (isinstance(inner, int) or inner):
            found[_ENVIRONMENT_FIELDS[field]] = str(inner) if isinstance(inner, int) else clean(text(inner))
    return [RunInfo(found)] if found else []
