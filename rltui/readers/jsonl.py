"""JSON lines: verl's file logger (`{"step": 1, "data": {...}}`) and flat rows of any trainer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from rltui.readers.base import NO_STEP, ConfigRecord, Note, Record
from rltui.readers.config_text import flatten
from rltui.readers.keys import first_of, step_of, time_of
from rltui.readers.lines import LineBuffer
from rltui.readers.rows import RowBuilder, number

Object = dict[str, object]

MAX_LAYOUTS = 10_000
MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class _Layout:
    """What the keys of a row say: where step, time and planned steps stand, and whether cells are objects."""

    step: str | None
    time: str | None
    total: str | None
    nested: bool
    config: bool


class JsonlReader:
    """One JSON object a line. Rows of equal keys are taken over column by column."""

    format = "jsonl"
    whole = False

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._buffer = LineBuffer()
        self._aside: set[str] = set()  # keys that are no metrics
        self._rows = RowBuilder(lambda key: key not in self._aside)
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._line = 0
        self._plan: tuple[int, int] | None = None

    def feed(self, data: bytes) -> list[Record]:
        block = self._buffer.feed(data)
        if self._buffer.too_long:
            self._skip("line longer than 1 MiB", self._buffer.too_long)
            self._buffer.too_long = 0
        if not block:
            return []
        lines = block.split(b"\n")
        lines.pop()
        return self._read(lines)

    def finish(self) -> list[Record]:
        rest = self._buffer.peek()
        if not rest.strip().endswith(b"}"):
            return []
        line, skipped = self._line, self.skipped.copy()
        records = self._read([rest])
        self._line, self.skipped = line, skipped  # the line may grow yet
        return records

    def _read(self, lines: list[bytes]) -> list[Record]:
        out: list[Record] = []
        rows: list[Object] = []
        inner: list[Object] = []
        outer_keys: list[str] = []
        keys: list[str] = []
        for line in lines:
            self._line += 1
            row, strict = self._parse(line)
            if row is None:
                continue
            data = row.get("data")
            cells = data if isinstance(data, dict) else row
            if rows and not (strict and list(cells) == keys and list(row) == outer_keys):
                self._add(rows, inner, True, out)
                rows, inner = [], []
            if not rows:
                outer_keys, keys = list(row), list(cells)
            rows.append(row)
            inner.append(cells)
            if not strict:
                self._add(rows, inner, False, out)
                rows, inner = [], []
        if rows:
            self._add(rows, inner, True, out)
        if self._plan is not None:
            step, total = self._plan
            out.append(Note("progress", f"step {step} of {total}", self._line, step, total))
            self._plan = None
        return [*out, *self._rows.take()]

    def _parse(self, line: bytes) -> tuple[Object | None, bool]:
        """The object of a line, and whether it was strict JSON (no number in it is NaN or infinite then)."""
        strict = True
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            if not line.strip():
                return None, True
            strict = False
            try:
                row = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                self._skip("line that is not JSON")
                return None, True
        if not isinstance(row, dict):
            self._skip("line that is no JSON object")
            return None, True
        return row, strict

    def _add(self, rows: list[Object], inner: list[Object], plain: bool, out: list[Record]) -> None:
        """Rows of one layout. `inner[i]` holds the cells of `rows[i]`: the row itself, or its `data`."""
        layout = self._layout(rows[0], inner[0])
        if layout.config:
            out += [ConfigRecord(flatten(row), f"line {self._line}") for row in rows]
            return
        steps = [NO_STEP] * len(rows) if layout.step is None else [self._step(row, layout) for row in rows]
        times = None if layout.time is None else [time_of(row[layout.time]) for row in rows]
        if layout.nested:
            for i, cells in enumerate(inner):
                flat = dict(_flat(cells))
                if flat:
                    self._rows.add_alike(
                        steps[i : i + 1], [flat], None if times is None else times[i : i + 1], plain=False
                    )
        elif inner[0]:
            self._rows.add_alike(steps, inner, times, plain=plain)

    def _step(self, row: Object, layout: _Layout) -> int:
        step, total = step_of(row[layout.step or ""])
        if layout.total is not None:
            total = step_of(row[layout.total])[0]
        if step is not None and total:
            self._plan = (step, total)
        return NO_STEP if step is None else step

    def _layout(self, row: Object, cells: Object) -> _Layout:
        keys = (*row, "", *cells)
        layout = self._layouts.get(keys)
        if layout is None:
            step = first_of("step", row)
            time = first_of("time", row)
            if time is not None and time_of(row[time]) != time_of(row[time]):
                time = None  # a duration of that name
            layout = _Layout(
                step,
                time,
                first_of("total", row) if step is not None else None,
                any(isinstance(value, dict) for value in cells.values()),
                step is None and not any(number(value) is not None for _, value in _flat(cells)),
            )
            self._aside.update(key for key in (layout.step, layout.time, layout.total) if key is not None)
            if len(self._layouts) < MAX_LAYOUTS:
                self._layouts[keys] = layout
        return layout

    def _skip(self, reason: str, count: int = 1) -> None:
        self.skipped[reason] += count
        self.skipped_at.setdefault(reason, f"line {self._line}")


def _flat(cells: Mapping[str, object], prefix: str = "", depth: int = 0) -> list[tuple[str, object]]:
    out: list[tuple[str, object]] = []
    for key, value in cells.items():
        if isinstance(value, dict):
            if depth < MAX_DEPTH:
                out += _flat(value, f"{prefix}{key}/", depth + 1)
        else:
            out.append((f"{prefix}{key}", value))
    return out
