"""JSON lines: verl's file logger (`{"step": 1, "data": {...}}`) and flat rows of any trainer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from io import BytesIO
from itertools import groupby
from math import nan
from typing import TYPE_CHECKING, Any, Protocol

import orjson
from msgspec import Struct

from rltui.readers.base import NO_STEP, ConfigRecord, EpochReader, LogLine, Note, Record
from rltui.readers.config_file import flatten
from rltui.readers.epochs import CountsByEpoch, epoch_key, epoch_of
from rltui.readers.json_text import Object, ObjectLines
from rltui.readers.keys import MAX_STEP, StepColumn, first_of, is_time, names, names_zone, step_key, step_of, times_of
from rltui.readers.lines import MANY_BYTES, TOO_LONG, LineBuffer, unchanged
from rltui.readers.row_kinds import (
    as_evaluation,
    by_name,
    flag_of,
    hoisted,
    is_config,
    is_message,
    is_of_run,
    is_sample,
    kind_of,
    long_columns,
    may_be_named,
    measures,
    one_value,
    row_words,
    spread_out,
    unquoted,
)
from rltui.readers.row_labels import RowLabels
from rltui.readers.rows import RowBuilder, number
from rltui.readers.sample_means import SampleMeans, mean_cells
from rltui.text import clean

if TYPE_CHECKING:
    from rltui.readers.bulk import Floats
    from rltui.readers.json_bulk import Skeleton

MAX_LAYOUTS = 10_000
MAX_DEPTH = 8
AT_ONCE = 64
"""How many rows are parsed at once: few enough that their objects stay in the processor's cache."""
LEARNT = 4
"""After `AT_ONCE` times this many rows, the reader checks again whether the following rows have equal text around
their numbers."""


class _Layout(Struct, frozen=True):
    """What the keys of a row show: which keys hold step, time and planned steps, and whether cells are objects."""

    step: str | None
    time: str | None
    total: str | None
    epoch: str | None  # among the cells
    nested: bool
    config: bool


SAMPLE = "row of a sample among rows of metrics"


class FindsNotes(Protocol):
    """Finds notes in the lines that a program prints (`console.notes.NoteFinder`)."""

    def line(self, text: str, line: int, step: int | None) -> list[Note]: ...
    def finish(self, line: int, step: int | None) -> list[Note]: ...


class JsonlReader(EpochReader):
    """Reads one JSON object from each line. Rows of equal keys are read column by column. If such rows follow each
    other at one step, they are samples of the step, and their mean counts. `samples`: rows with text are samples too;
    else they are left out. `run`: the run to read, if a column names several. `notes` makes the object that finds notes
    in lines that are not rows: a program may print its rows and its last words into one file."""

    whole = False

    def __init__(self, samples: bool = False, run: str = "", notes: Callable[[], FindsNotes] | None = None) -> None:
        self._run = run
        self.format = "samples" if samples else "jsonl"
        self._with_text = samples
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._buffer = LineBuffer()
        self._aside: set[str] = set()  # keys that are not metrics
        self._rows = RowBuilder(self.skipped, self.skipped_at, lambda key: key not in self._aside)
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._lines = ObjectLines(self._skip)
        self._plan: tuple[int, int] | None = None
        self._steps_of = StepColumn(self._skip)
        self._epochs = CountsByEpoch()
        self._stated = NO_STEP  # the newest step that a row stated
        self._surplus = 0  # rows that state their step minus those that do not
        self._flags: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._means, self._labels = SampleMeans(), RowLabels()
        self._newest = b""  # the last line read one by one since the skeleton was made
        self._skeleton: Skeleton | None = None
        self._find_notes = notes
        self._notes: FindsNotes | None = None

    @property
    def epoch(self) -> int | None:
        return None if self._epochs.last is None else self._epochs.last[0]

    def feed(self, data: bytes) -> list[Record]:
        block = self._buffer.feed(data)
        for before in self._buffer.too_long:
            self._skip(TOO_LONG, line=self._lines.number + before + 1)
        if not block:
            return []
        lines = BytesIO(block).readlines()  # twice as fast as split
        if len(block) < MANY_BYTES:
            return self._read(lines)
        out: list[Record] = []
        self._read_many(lines, out)
        return [*out, *self._rows.take(), *self._means.remarks()]

    def finish(self) -> list[Record]:
        rest = self._buffer.peek()
        records: list[Record] = []
        if rest.strip().endswith(b"}"):
            line = self._lines.number
            with unchanged(self.skipped, self.skipped_at):  # the line may grow yet
                records = self._read([rest])
            self._lines.number = line
        elif self._notes is not None:
            records += self._notes.finish(self._lines.number, self._step)
        for step, cells, time in self._means.so_far():
            self._rows.add(step, cells, time)
        return [*records, *self._rows.take(), *self._means.remarks()]

    def _read(self, lines: list[bytes]) -> list[Record]:
        out: list[Record] = []
        self._newest = lines[-1] if lines else b""
        for at in range(0, len(lines), AT_ONCE):
            for line, rows, strict in self._lines.read(lines[at : at + AT_ONCE]):
                self._tell(out, line)
                for keys, group in groupby(rows, tuple):
                    alike = list(group)
                    flags = self._flags_of(alike, keys)
                    if flags:
                        self._add_flagged(alike, flags, line, strict, out)
                    else:
                        self._add_rows(alike, strict, line, out)
                        self._labels.own(alike[-1], self._stated)
                    line += len(alike)
            self._tell(out, self._lines.number + 1)
        if self._plan is not None:
            step, total = self._plan
            out.append(Note("progress", f"step {step} of {total}", self._lines.number, step, total))
            self._plan = None
        return [*out, *self._rows.take(), *self._means.remarks()]

    @property
    def _step(self) -> int | None:
        """The newest step that a row stated; None before the first."""
        return None if self._stated == NO_STEP else self._stated

    def _tell(self, out: list[Record], before: int) -> None:
        """Adds notes on what the program printed among the rows before a line: a traceback, or its last words."""
        while self._lines.strange and self._lines.strange[0][0] < before:
            line, text = self._lines.strange.pop(0)
            if self._notes is None and self._find_notes is not None:
                self._notes = self._find_notes()
            if self._notes is None:
                continue
            out += self._notes.line(text.decode("utf-8", "replace").rstrip(), line, self._step)

    def _read_many(self, lines: list[bytes], out: list[Record]) -> None:
        """Reads many lines at once if they differ from those before only in their numbers, the others one by one."""
        from rltui.readers.json_bulk import Skeleton, stretches

        done = 0
        while done < len(lines):
            rest = lines[done:]
            if self._newest:
                self._skeleton = Skeleton.of(self._newest) if self._is_plain(self._newest) else None
                self._newest = b""
            if self._skeleton is None:
                out += self._read(rest[: LEARNT * AT_ONCE])
                done += LEARNT * AT_ONCE
                continue
            for some, numbers in stretches(self._skeleton, rest):
                done += len(some)
                if numbers is None or not self._take(self._skeleton.paths, numbers, some[-1]):
                    out += self._read(some)
                    if len(some) > AT_ONCE:
                        break  # they have another shape: learn it

    def _is_plain(self, line: bytes) -> bool:
        """Whether only the numbers of a line like this matter."""
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            return False
        if not isinstance(row, dict) or self._flags_of([row], tuple(row)):
            return False
        data = row.get("data")
        layout = self._layouts.get((*row, "", *(data if isinstance(data, dict) else row)))
        return layout is not None and layout.step is not None and layout.total is None and not layout.nested

    def _take(self, paths: tuple[tuple[str, ...], ...], numbers: Floats, last: bytes) -> bool:
        """Adds rows by the columns of their numbers. Returns False, with nothing added, if they must be read one by
        one. `last`: the last of their lines."""
        from rltui.readers import bulk

        newest = orjson.loads(last)
        data = newest.get("data")
        inner: Object = data if isinstance(data, dict) else newest
        layout = self._layout(newest, inner)
        columns = dict(zip(paths, numbers, strict=True))
        under = () if inner is newest else ("data",)
        steps = columns[(layout.step or "",)]
        before = self._means.step if self._epochs.last is None else self._epochs.last[1]
        rising = bool((steps[1:] > steps[:-1]).all()) and steps[0] != before
        if not rising or self._means.on or self._steps_of.counted or not bulk.whole(steps, MAX_STEP).all():
            return False
        times = None if layout.time is None else bulk.times(columns[(layout.time,)])
        counted = steps.astype(int)
        if layout.epoch is not None or self._epochs.last is not None:
            epochs = None if layout.epoch is None else columns[(*under, layout.epoch)]
            counted = self._epochs.many(epochs, counted)
        self._rows.add_columns(
            counted,
            bulk.no_times(len(steps)) if times is None else times,
            {key: columns[(*under, key)] for key in inner},
        )
        self._lines.number += len(steps)
        self._stated = int(counted[-1])
        self._labels.own(newest, self._stated)
        self._surplus += len(steps)
        self._means.alone += len(steps) - 1
        self._means.meet([inner], [self._stated], None if times is None else [float(times[-1])])
        return True

    def _flags_of(self, rows: list[Object], keys: tuple[str, ...]) -> tuple[str, ...]:
        """The keys whose values may show what kind of rows these are. `""` is among them if the rows may hold a text, a
        list of measurements, or one value each."""
        flags = self._flags.get(keys)
        if flags is None:
            row = rows[0]
            odd = (
                bool(self._run)
                or first_of("config", row) is not None
                or ("data" not in row and first_of("step", row) is None and hoisted(row) is not row)
                or any(isinstance(value, list | str) for value in row.values())
                or long_columns(keys) is not None
            )
            flags = (*flag_of(keys), *([""] if odd else []))
            if len(self._flags) < MAX_LAYOUTS:
                self._flags[keys] = flags
        if "" not in flags and any(may_be_named(row) and spread_out(row) is not row for row in rows):
            return (*flags, "")  # other rows with the same keys may not need this
        return flags

    def _add_flagged(
        self, rows: list[Object], flags: tuple[str, ...], line: int, strict: bool, out: list[Record]
    ) -> None:
        """Adds rows that may not be rows of training."""
        said = tuple(key for key in flags if key)
        first, alike, plain = line, list[Object](), strict
        for at, given in enumerate(rows, line):
            row = self._row_of(given, said, at, out)
            if alike and (row is None or tuple(row) != tuple(alike[0])):
                self._add_rows(alike, plain, first, out)
                alike = []
            if row is not None:
                if not alike:
                    first, plain = at, strict
                plain &= row is given
                alike.append(row)
        if alike:
            self._add_rows(alike, plain, first, out)

    def _add_rows(self, alike: list[Object], plain: bool, line: int, out: list[Record]) -> None:
        if "data" in alike[0]:
            self._add_data(alike, plain, line, out)
        else:
            self._add(alike, alike, plain, line, out)

    def _row_of(self, row: Object, said: tuple[str, ...], line: int, out: list[Record]) -> Object | None:
        """The row as metrics of training or of an evaluation; None if it is something else, which is added to `out`."""
        if self._run and not is_of_run(row, self._run):
            return None
        given = unquoted(row)
        row = spread_out(hoisted(by_name(given)))
        if row is not given:  # the kind may be stated inside an object, or by the name of one
            dissolved, said = [key for key in said if key not in row], flag_of(row)
            kind = kind_of(row, said) or (kind_of(dict.fromkeys(dissolved, True), dissolved) if dissolved else None)
        else:
            kind = kind_of(row, said)
        stated = first_of("step", row)
        if stated is None and (about := step_key(row)) is not None:
            stated, row = "step", {"step": step_of(row[about])[0], **row}
        config = first_of("config", row) if stated is None else None
        if config is not None and isinstance(row[config], dict) and not measures(row):
            out.append(ConfigRecord(flatten({key: row[key] for key in row if key not in said}), f"line {line}"))
            return None
        step = None if stated is None else step_of(row[stated])[0]
        if kind == "config" and not step:
            out.append(ConfigRecord(flatten({key: row[key] for key in row if key not in said}), f"line {line}"))
            return None
        if kind == "end" or (stated is None and (is_message(row) or (not kind and self._surplus > 0 and said))):
            text = clean(", ".join(f"{key} {value}" for key, value in row.items()), 500)
            out.append(Note("end", text, line, step) if kind == "end" else LogLine(text, line))
            return None
        if not self._with_text and is_sample(row):
            self._skip(SAMPLE, line)
            return None
        row = mean_cells(one_value(row))
        if kind in ("eval", "test"):
            return as_evaluation(row, kind)
        samples = self._with_text or self._means.on
        return row if samples or step is None else self._labels.told(row, step, kind)

    def _add_data(self, rows: list[Object], strict: bool, line: int, out: list[Record]) -> None:
        """Adds rows of equal keys, one of which is `data`. Its value is an object of cells, or an ordinary cell."""
        data = [row["data"] for row in rows]
        at = 0
        keys_of: Callable[[Any], object] = tuple if set(map(type, data)) == {dict} else _keys
        for keys, group in groupby(data, keys_of):
            cells: list[Any] = list(group)
            some = rows[at : at + len(cells)]
            self._add(some, some if keys is None else cells, strict, line + at, out)
            at += len(cells)

    def _add(self, rows: list[Object], inner: list[Object], plain: bool, line: int, out: list[Record]) -> None:
        """Adds rows of one layout. `inner[i]` holds the cells of `rows[i]`: the row itself, or its `data`."""
        layout = self._layout(rows[0], inner[0])
        if layout.config:
            out += [ConfigRecord(flatten(row), f"line {at}") for at, row in enumerate(rows, line)]
            return
        if layout.step is not None:
            steps = self._of_epochs(self._steps(rows, layout, line), inner, layout)
            if self._epochs.base:
                self._plan = None  # the planned steps are those of one epoch
            self._stated = next((step for step in reversed(steps) if step != NO_STEP), self._stated)
            self._surplus += len(rows)
        else:  # an event or evaluation: belongs to the newest step, in a file whose other rows state their steps
            steps = [self._stated if self._surplus > i else NO_STEP for i in range(len(rows))]
            self._surplus -= len(rows)
        times = None if layout.time is None else times_of([row[layout.time] for row in rows])
        if layout.nested:
            inner, plain = [dict(_flat(cells)) for cells in inner], False
        if layout.step is not None and self._means.meet(inner, steps, times):
            for i, cells in enumerate(inner):
                for mean in self._means.add(steps[i], cells, nan if times is None else times[i]):
                    self._rows.add(*mean)
        elif layout.nested:
            for i, flat in enumerate(inner):
                if flat:
                    self._rows.add_alike(
                        steps[i : i + 1], [flat], None if times is None else times[i : i + 1], plain=False
                    )
        elif inner[0]:
            self._rows.add_alike(steps, inner, times, plain=plain)

    def _steps(self, rows: list[Object], layout: _Layout, line: int) -> list[int]:
        stated: list[Any] = [row[layout.step or ""] for row in rows]
        if self._steps_of.in_doubt and layout.step in names("step"):
            self._steps_of.in_doubt = False  # the doubtful column was not the step
        if self._steps_of.in_doubt:
            self._steps_of.look_at(stated)
            if self._steps_of.counted:  # then it is a metric
                self._aside.discard(layout.step or "")
        whole = layout.total is None and not (self._steps_of.counted or self._steps_of.in_doubt)
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

    def _of_epochs(self, counts: list[int], cells: list[Object], layout: _Layout) -> list[int]:
        """The steps of rows with these counts, which may begin anew in each epoch."""
        if layout.epoch is None:
            return counts if self._epochs.last is None else self._epochs.steps([None] * len(counts), counts)
        return self._epochs.steps([epoch_of(inner.get(layout.epoch)) for inner in cells], counts)

    def _layout(self, row: Object, cells: Object) -> _Layout:
        keys = (*row, "", *cells)
        layout = self._layouts.get(keys)
        if layout is None:
            step = first_of("step", row)
            if step is None and self._stated == NO_STEP and not self._surplus and not is_config(row) and measures(row):
                step = first_of("perhaps_step", row)
                self._steps_of.in_doubt = step is not None
            time = next((key for key in names("time") if key in row and is_time(row[key])), None)
            self._rows.zoned = time is not None and names_zone(row[time])
            layout = _Layout(
                step,
                time,
                first_of("total", row) if step is not None else None,
                epoch_key(cells, step) if step is not None else None,
                any(isinstance(value, dict) for value in cells.values()),
                step is None and (is_config(row) or not any(number(value) is not None for _, value in _flat(cells))),
            )
            self._aside.update(key for key in (layout.step, layout.time, layout.total) if key is not None)
            if step is not None:
                self._aside.update(row_words().items.intersection(cells))
            if any(isinstance(value, str) for value in row.values()):  # a logger's record
                self._aside.update(key for key in cells if key.lower() in row_words().records)
            if self._with_text:
                self._aside.update(names("text"))
            if len(self._layouts) < MAX_LAYOUTS:
                self._layouts[keys] = layout
        return layout

    def _skip(self, reason: str, line: int | None = None) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, f"line {line or self._lines.number}")


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
