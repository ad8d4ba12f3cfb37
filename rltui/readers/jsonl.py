"""JSON lines: verl's file logger (`{"step": 1, "data": {...}}`) and flat rows of any trainer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from itertools import groupby
from typing import Any

import orjson

from rltui.readers.base import NO_STEP, ConfigRecord, Note, Record
from rltui.readers.config_file import flatten
from rltui.readers.json_number import lenient
from rltui.readers.keys import MAX_STEP, StepColumn, first_of, step_of, time_of, times_of
from rltui.readers.lines import TOO_LONG, LineBuffer, unchanged
from rltui.readers.rows import RowBuilder, number

Object = dict[str, object]

MAX_LAYOUTS = 10_000
MAX_DEPTH = 8
AT_ONCE = 64
"""Rows parsed at once: their objects stay in the processor's cache."""


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
        self._rows = RowBuilder(self.skipped, self.skipped_at, lambda key: key not in self._aside)
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._line = 0
        self._plan: tuple[int, int] | None = None
        self._steps_of = StepColumn(self._skip)
        self._stated = NO_STEP  # the newest step that a row stated
        self._surplus = 0  # rows that state their step, less those that do not

    def feed(self, data: bytes) -> list[Record]:
        block = self._buffer.feed(data)
        for before in self._buffer.too_long:
            self._skip(TOO_LONG, line=self._line + before + 1)
        if not block:
            return []
        return self._read(BytesIO(block).readlines())  # twice as fast as split

    def finish(self) -> list[Record]:
        rest = self._buffer.peek()
        if not rest.strip().endswith(b"}"):
            return []
        line = self._line
        with unchanged(self.skipped, self.skipped_at):  # the line may grow yet
            records = self._read([rest])
        self._line = line
        return records

    def _read(self, lines: list[bytes]) -> list[Record]:
        out: list[Record] = []
        for at in range(0, len(lines), AT_ONCE):
            for line, rows, strict in self._parse(lines[at : at + AT_ONCE]):
                for keys, group in groupby(rows, tuple):
                    alike = list(group)
                    if "data" in keys:
                        self._add_data(alike, strict, line, out)
                    else:
                        self._add(alike, alike, strict, line, out)
                    line += len(alike)
        if self._plan is not None:
            step, total = self._plan
            out.append(Note("progress", f"step {step} of {total}", self._line, step, total))
            self._plan = None
        return [*out, *self._rows.take()]

    def _parse(self, lines: list[bytes]) -> Iterator[tuple[int, list[Object], bool]]:
        """Rows of consecutive lines with the number of the first, and whether they were strict JSON (no number in them
        is NaN or infinite then)."""
        first = self._line + 1
        try:
            rows = list(map(orjson.loads, lines))
        except orjson.JSONDecodeError:
            rows = []
        if rows and set(map(type, rows)) == {dict}:
            self._line += len(rows)
            yield first, rows, True
            return
        rows, strict = [], True
        for text in lines:
            self._line += 1
            row, is_strict = self._parse_line(text)
            if rows and (row is None or strict != is_strict):
                yield first, rows, strict
                rows = []
            if row is not None:
                if not rows:
                    first, strict = self._line, is_strict
                rows.append(row)
        if rows:
            yield first, rows, strict

    def _parse_line(self, line: bytes) -> tuple[Object | None, bool]:
        """The object of a line, and whether it was strict JSON."""
        strict = True
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            if not line.strip():
                return None, True
            strict = False
            try:
                row = lenient(line)
            except (ValueError, RecursionError):
                self._skip("line that is not JSON")
                return None, True
        if not isinstance(row, dict):
            self._skip("line that is no JSON object")
            return None, True
        return row, strict

    def _add_data(self, rows: list[Object], strict: bool, line: int, out: list[Record]) -> None:
        """Rows of equal keys, one of which is `data`: an object of cells, or a cell as any other."""
        data = [row["data"] for row in rows]
        at = 0
        keys_of: Callable[[Any], object] = tuple if set(map(type, data)) == {dict} else _keys
        for keys, group in groupby(data, keys_of):
            cells: list[Any] = list(group)
            some = rows[at : at + len(cells)]
            self._add(some, some if keys is None else cells, strict, line + at, out)
            at += len(cells)

    def _add(self, rows: list[Object], inner: list[Object], plain: bool, line: int, out: list[Record]) -> None:
        """Rows of one layout. `inner[i]` holds the cells of `rows[i]`: the row itself, or its `data`."""
        layout = self._layout(rows[0], inner[0])
        if layout.config:
            out += [ConfigRecord(flatten(row), f"line {at}") for at, row in enumerate(rows, line)]
            return
        if layout.step is not None:
            steps = self._steps(rows, layout, line)
            self._stated = next((step for step in reversed(steps) if step != NO_STEP), self._stated)
            self._surplus += len(rows)
        else:  # an event, or an evaluation: of the newest step, in a file whose rows state theirs
            steps = [self._stated if self._surplus > 0 else NO_STEP] * len(rows)
            self._surplus -= len(rows)
        times = None if layout.time is None else times_of([row[layout.time] for row in rows])
        if layout.nested:
            for i, cells in enumerate(inner):
                flat = dict(_flat(cells))
                if flat:
                    self._rows.add_alike(
                        steps[i : i + 1], [flat], None if times is None else times[i : i + 1], plain=False
                    )
        elif inner[0]:
            self._rows.add_alike(steps, inner, times, plain=plain)

    def _steps(self, rows: list[Object], layout: _Layout, line: int) -> list[int]:
        stated: list[Any] = [row[layout.step or ""] for row in rows]
        whole = layout.total is None and not self._steps_of.counted
        if whole and set(map(type, stated)) == {int} and min(stated) >= 0 and max(stated) <= MAX_STEP:
            return stated
        out = []
        for at, (row, value) in enumerate(zip(rows, stated, strict=True), line):
            step, total = self._steps_of.step(value, at), step_of(value)[1]
            if layout.total is not None:
                total = step_of(row[layout.total])[0]
            if step != NO_STEP and total:
                self._plan = (step, total)
            out.append(step)
        return out

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

    def _skip(self, reason: str, line: int | None = None) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, f"line {line or self._line}")


def _keys(data: object) -> tuple[object, ...] | None:
    return tuple(data) if isinstance(data, dict) else None


def _flat(cells: Mapping[str, object], prefix: str = "", depth: int = 0) -> list[tuple[str, object]]:
    out: list[tuple[str, object]] = []
    for key, value in cells.items():
        if isinstance(value, dict):
            if depth < MAX_DEPTH:
                out += _flat(value, f"{prefix}{key}/", depth + 1)
        else:
            out.append((f"{prefix}{key}", value))
    return out
