"""TensorBoard event files: TFRecords of Event messages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rltui.readers.base import Record
from rltui.readers.bulk import MAX_CELLS, Grid
from rltui.readers.byte_texts import KeyTable
from rltui.readers.protobuf import BYTES, WireError, double, fields, last, messages, signed, text
from rltui.readers.tensorboard import values as summary_values
from rltui.readers.tensorboard.records import RecordLog
from rltui.readers.tensorboard.values import shortest

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PAD = 160
"""A buffer has so many bytes behind its last event: the longest that is taken."""
_LONGEST_STEP = 5


@dataclass(slots=True)
class Scalars:
    """Of the events numbered `events`: wall time (s), step, number of the tag, value."""

    events: Ints
    times: NDArray[np.float64]
    steps: Ints
    tags: Ints
    values: NDArray[np.float32]


def scalar_events(b: NDArray[np.uint8], starts: Ints, lengths: Ints, table: KeyTable) -> Scalars:
    """The events of one float scalar among those at `starts`, many at once. `b` is the buffer, padded.

    Such an event is `09 wall_time(8) [10 step] 2a LEN 0a LEN 0a LEN tag 15 value(4)`: what SummaryWriter.add_scalar
    writes. It is taken so only if all its lengths fit together; every other one is decoded field by field.
    """
    fits = (lengths >= 20) & (lengths < 160)
    at = np.where(fits, starts, 0)
    end = np.where(fits, starts + lengths, 0)
    fits &= b[at] == 0x09
    pos = at + 9
    stated = b[pos] == 0x10
    pos = pos + stated
    steps: Ints = np.zeros(len(at), dtype=np.int64)
    going = stated.copy()
    for shift in range(0, 7 * _LONGEST_STEP, 7):
        byte = b[pos].astype(np.int64)
        steps |= np.where(going, (byte & 127) << shift, 0)
        pos = pos + going
        going &= byte > 127
        if not going.any():
            break
    fits &= ~going & (b[pos] == 0x2A) & (b[pos + 2] == 0x0A) & (b[pos + 4] == 0x0A)
    summary, value, tag = (b[pos + n].astype(np.int64) for n in (1, 3, 5))
    fits &= (pos + 2 + summary == end) & (pos + 4 + value == end) & (pos + 6 + tag + 5 == end)
    fits &= (summary < 128) & (b[end - 5] == 0x15)
    kept = np.flatnonzero(fits)
    at, end, pos, tag = at[kept], end[kept], pos[kept], tag[kept]
    doubles = np.ndarray((len(b) - 7,), dtype="<f8", buffer=b, strides=(1,))
    singles = np.ndarray((len(b) - 3,), dtype="<f4", buffer=b, strides=(1,))
    return Scalars(
        events=kept,
        times=doubles[at + 1],
        steps=steps[kept],
        tags=table.numbers(b, pos + 6, tag),
        values=singles[end - 4],
    )


_SLICE = 1 << 20
"""Bytes that are decoded at once: bounds the memory, whatever the size of the pieces fed."""
FEW = 8
"""Fewer new events than this are decoded one by one: the arrays would cost more."""


@dataclass(slots=True)
class _Cells:
    """Scalars in file order, one element of each array a scalar."""

    steps: Ints
    times: Floats
    columns: Ints
    values: Floats


class TfeventsReader:
    """Scalars as rows, one row for consecutive events of one step; text tags that hold JSON, and HParams, as config.

    A row's time is the wall time of its last event. float32 values are given as the shortest decimal that reads back
    as the same float32. The rows of the events fed so far are yielded at once: when the rest of a step comes later,
    it is a row of its own with the same step, alone in its block.
    """

    format = "tensorboard"
    whole = False

    def __init__(self) -> None:
        self._log = RecordLog()
        self.skipped: Counter[str] = self._log.skipped
        self.skipped_at: dict[str, str] = self._log.skipped_at
        self._grid = Grid()
        self._last_step: int | None = None
        self._events = 0

    def feed(self, data: bytes) -> list[Record]:
        out: list[Record] = []
        for begin in range(0, len(data), _SLICE):
            piece = data if len(data) <= _SLICE else data[begin : begin + _SLICE]
            buffer, starts, lengths = self._log.feed(piece)
            if len(starts):
                out += self._decode(buffer, starts, lengths)
        return out

    def finish(self) -> list[Record]:
        return []

    def _decode(self, buffer: bytes, starts: Ints, lengths: Ints) -> list[Record]:
        others: list[Record] = []
        one_by_one = np.arange(len(starts))
        cells: list[tuple[Ints, _Cells]] = []
        if len(starts) >= FEW:
            b = np.frombuffer(buffer + bytes(PAD), dtype=np.uint8)
            decoded = scalar_events(b, starts, lengths, self._grid.table)
            values = shortest(decoded.values)
            values[~np.isfinite(values)] = np.inf
            cells.append(
                (decoded.events, _Cells(decoded.steps, decoded.times, self._grid.columns(decoded.tags), values))
            )
            one_by_one = np.delete(one_by_one, decoded.events)
        events: list[int] = []
        found: list[tuple[int, float, int, float]] = []
        for i in one_by_one.tolist():
            try:
                scalars = self._event(buffer[starts[i] : starts[i] + lengths[i]], others)
            except WireError:
                self.skipped["undecodable event"] += 1
                self.skipped_at.setdefault("undecodable event", f"event {self._events + i + 1}")
                continue
            found += scalars
            events += [i] * len(scalars)
        self._events += len(starts)
        if found:
            steps, times, tags, values_ = zip(*found, strict=True)
            cells.append(
                (
                    np.array(events, dtype=np.int64),
                    _Cells(
                        np.array(steps, dtype=np.int64),
                        np.array(times, dtype=np.float64),
                        self._grid.columns(np.array(tags, dtype=np.int64)),
                        np.array(values_, dtype=np.float64),
                    ),
                )
            )
        return others + self._rows(_merged(cells))

    def _rows(self, cells: _Cells) -> list[Record]:
        if not len(cells.steps):
            return []
        opens = np.flatnonzero(np.append(True, cells.steps[1:] != cells.steps[:-1]))
        row = np.repeat(np.arange(len(opens)), np.diff(opens, append=len(cells.steps)))
        steps = cells.steps[opens]
        times = cells.times[np.append(opens[1:], len(cells.steps)) - 1]
        most = max(1, MAX_CELLS // max(1, len(self._grid.names)))
        cuts = list(range(0, len(steps), most))
        if steps[0] == self._last_step and len(steps) > 1:  # the rest of a row, or all of it would be added slowly
            cuts = [0, *range(1, len(steps), most)]
        self._last_step = int(steps[-1])
        out: list[Record] = []
        for begin, end in zip(cuts, [*cuts[1:], len(steps)], strict=True):
            some = slice(*np.searchsorted(row, [begin, end]).tolist())
            grid: Floats = np.full((len(self._grid.names), end - begin), np.nan)
            grid[cells.columns[some], row[some] - begin] = cells.values[some]
            out.append(self._grid.rows(grid, steps[begin:end], times[begin:end]))
        return out

    def _event(self, event: bytes, others: list[Record]) -> list[tuple[int, float, int, float]]:
        """Step, wall time, number of the tag and value of each scalar in an Event; config goes to `others`."""
        time = float("nan")
        step = 0
        summaries: list[bytes] = []
        for field, wire, value in fields(event):
            if field == 1:
                wall = double(value)
                time = time if wall is None else wall
            elif field == 2 and isinstance(value, int):
                step = signed(value)
            elif field == 5 and wire == BYTES and isinstance(value, bytes):
                summaries.append(value)
        found = []
        for summary in summaries:
            for item in messages(summary, 1):
                tag = last(item, 1)
                if not isinstance(tag, bytes):
                    continue
                scalar = summary_values.scalar(item)
                if scalar is not None:
                    found.append((step, time, self._grid.table.number(tag), scalar))
                else:
                    others += summary_values.config(text(tag), item)
        return found


def _merged(parts: list[tuple[Ints, _Cells]]) -> _Cells:
    """Cells of both decoders in the order of their events."""
    if len(parts) == 1:
        return parts[0][1]
    if not parts:
        none: Ints = np.zeros(0, dtype=np.int64)
        return _Cells(none, np.zeros(0), none, np.zeros(0))
    order = np.argsort(np.concatenate([events for events, _ in parts]), kind="stable")
    return _Cells(
        np.concatenate([c.steps for _, c in parts])[order],
        np.concatenate([c.times for _, c in parts])[order],
        np.concatenate([c.columns for _, c in parts])[order],
        np.concatenate([c.values for _, c in parts])[order],
    )
