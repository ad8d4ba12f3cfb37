"""Reads TensorBoard event files: TFRecords of Event messages. Their values hold a scalar, or a config as text or
HParams. A float32 becomes the decimal that was meant: 0.1, not 0.10000000149011612."""

from __future__ import annotations

import json
import struct
from collections import Counter

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rltui.readers.base import ConfigRecord, Record
from rltui.readers.bulk import MAX_CELLS, Grid
from rltui.readers.byte_texts import KeyTable
from rltui.readers.config_file import flatten
from rltui.readers.literals import NONFINITE
from rltui.readers.protobuf import BYTES, FIXED32, WireError, double, fields, last, messages, signed, text, varint
from rltui.readers.tensorboard.records import RecordLog

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PAD = 160
"""The bytes of padding after a buffer's last event. Events that are not shorter are decoded one by one."""
_LONGEST_STEP = 5
_SIMPLE_VALUE, _TENSOR, _METADATA = 2, 8, 9
_DTYPE, _CONTENT, _STRINGS = 1, 4, 8
_FLOAT, _DOUBLE, _HALF = 1, 2, 19
_STORED = {_FLOAT: "<f4", _DOUBLE: "<f8", 3: "<i4", 9: "<i8", 10: "<i1", _HALF: "<f2"}  # DataType -> tensor_content
_ELEMENTS = (5, 6, 7, 10, 11, 13)  # float_val, double_val, int_val, int64_val, bool_val, half_val
_TEXT_SUFFIX = "/text_summary"
_HPARAMS = "_hparams_/session_start_info"


class Scalars(Struct):
    """Wall time (s), step, tag number and value of the events at the indices `events`."""

    events: Ints
    times: NDArray[np.float64]
    steps: Ints
    tags: Ints
    values: NDArray[np.float32]


def scalar_events(b: NDArray[np.uint8], starts: Ints, lengths: Ints, table: KeyTable) -> Scalars:
    """Decodes many events at once: those of the events at `starts` that hold one float scalar. `b`: the buffer with its
    padding.

    Such an event is `09 wall_time(8) [10 step] 2a LEN 0a LEN 0a LEN tag 15 value(4)`, as SummaryWriter.add_scalar
    writes it. All its lengths must fit together; any other event is decoded field by field.
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
"""The most bytes that are decoded at once. This bounds the memory, however large the pieces that are fed."""
FEW = 8
"""If there are fewer new events than this, they are decoded one by one: arrays would take longer."""


class _Cells(Struct):
    """Scalars in file order, with one element of each array for each scalar."""

    steps: Ints
    times: Floats
    columns: Ints
    values: Floats


class TfeventsReader:
    """Reads scalars as rows: consecutive events of one step become one row. Text tags that hold JSON, and HParams,
    become config.

    A row's time is the wall time of its last event. A float32 becomes the shortest decimal that reads back as the same
    float32. `feed` returns the rows of all events so far. If the rest of a step comes later, it becomes a second row of
    this step, alone in its block.
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
        if steps[0] == self._last_step and len(steps) > 1:  # the rest of a row goes alone, or adding all rows is slow
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
        """Step, wall time, tag number and value of each scalar in an Event; config is added to `others`."""
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
                scalar = _scalar(item)
                if scalar is not None:
                    found.append((step, time, self._grid.table.number(tag), scalar))
                else:
                    others += _config(text(tag), item)
        return found


def _merged(parts: list[tuple[Ints, _Cells]]) -> _Cells:
    """The cells of both decoders, in the order of their events."""
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


def _scalar(item: bytes) -> float | None:
    """The number in a Summary.Value; NONFINITE if it is not finite; None if the value is not a number."""
    number: float | None = None
    for field, wire, value in fields(item):
        if field == _SIMPLE_VALUE and wire == FIXED32 and isinstance(value, bytes):
            number = _single(value)
        elif field == _TENSOR and isinstance(value, bytes) and _plugin(item)[0] in ("", "scalars"):
            number = _element(value)
    if number is None:
        return None
    return number if np.isfinite(number) else NONFINITE


def _config(tag: str, item: bytes) -> list[Record]:
    """The config in a value: JSON text under `NAME/text_summary` (transformers: args, model_config), or HParams.

    The keys of `args` are kept as they are; the keys of any other text tag get the tag's name before them."""
    if tag == _HPARAMS:
        found = _hparams(_plugin(item)[1])
        return [ConfigRecord(flatten(found), "TensorBoard HParams")] if found else []
    if not tag.endswith(_TEXT_SUFFIX):
        return []
    name = tag.removesuffix(_TEXT_SUFFIX)
    for value in messages(_bytes(last(item, _TENSOR)), _STRINGS):
        try:
            tree = json.loads(value.strip(b"` \n\t").removeprefix(b"json"))
            if isinstance(tree, dict) and tree:
                flat = flatten(tree if name == "args" else {name: tree})
                return [ConfigRecord(flat, f"TensorBoard text tag {name}")]
        except (ValueError, RecursionError):
            continue
    return []


def _plugin(item: bytes) -> tuple[str, bytes]:
    """Name and content of the plugin in a value's metadata."""
    data = _bytes(last(_bytes(last(item, _METADATA)), 1))
    return text(last(data, 1)), _bytes(last(data, 2))


def _element(tensor: bytes) -> float | None:
    """The element of a tensor with a single number; None for other tensors."""
    dtype = last(tensor, _DTYPE)
    stored = _STORED.get(dtype) if isinstance(dtype, int) else None
    if stored is None:
        return None
    content = _bytes(last(tensor, _CONTENT))
    if content:
        if len(content) != np.dtype(stored).itemsize:
            return None
        return _single(content) if dtype == _FLOAT else float(np.frombuffer(content, dtype=stored)[0])
    elements = [value for field, _, value in fields(tensor) if field in _ELEMENTS]
    if len(elements) != 1:
        return None
    value = elements[0]
    if dtype == _FLOAT:
        return _single(value) if isinstance(value, bytes) and len(value) == 4 else None
    if dtype == _DOUBLE:
        return double(value)
    if isinstance(value, bytes):  # packed
        value, end = varint(value, 0)
        if end != len(_bytes(elements[0])):
            return None
    return float(struct.unpack("<e", struct.pack("<H", value & 0xFFFF))[0]) if dtype == _HALF else float(signed(value))


def _single(value: bytes) -> float:
    return float(shortest(np.frombuffer(value, dtype="<f4"))[0])


def _hparams(content: bytes) -> dict[object, object]:
    """HParamsPluginData.session_start_info.hparams, a map of google.protobuf.Value."""
    found: dict[object, object] = {}
    for entry in messages(_bytes(last(content, 3)), 1):
        value: object = None
        for field, _, inner in fields(_bytes(last(entry, 2))):
            if field == 2:
                value = double(inner)
            elif field == 3:
                value = text(inner)
            elif field == 4:
                value = bool(inner)
        found[text(last(entry, 1))] = value
    return found


def _bytes(value: int | bytes | None) -> bytes:
    return value if isinstance(value, bytes) else b""


Singles = NDArray[np.float32]

_SMALLEST, _LARGEST = 1e-12, 1e12
"""Between these limits, the powers of ten that scale a value to nine digits are exact in float64. A quotient by such a
power is therefore correctly rounded: it is the float64 nearest to the decimal."""
_TENS: Floats = np.array([10.0**n for n in range(23)])


def shortest(values: Singles) -> Floats:
    """Each value as the float64 nearest to the shortest decimal that reads back as the same float32, like
    `float(str(numpy.float32(x)))`. Infinities and NaN stay.

    Seven digits are tried for all values at once, then six, eight and nine for the few that need them. Values outside
    1e-12..1e12 are converted through numpy's own printing.
    """
    with np.errstate(invalid="ignore"):  # a signalling NaN
        out = values.astype(np.float64)
    magnitude = np.abs(out)
    plain = (magnitude >= _SMALLEST) & (magnitude <= _LARGEST)
    at = np.flatnonzero(plain)
    exact = out[at]
    singles = values[at]
    exponent = np.floor(np.log10(magnitude[at])).astype(np.int64)
    open_ = np.arange(len(at))
    result = exact.copy()
    for digits in (7, 8, 9):
        tried = _round(exact[open_], digits - 1 - exponent[open_])
        fits = tried.astype(np.float32) == singles[open_]
        result[open_[fits]] = tried[fits]
        if digits == 7:
            done = open_[fits]
            shorter = _round(exact[done], 5 - exponent[done])
            same = shorter.astype(np.float32) == singles[done]
            result[done[same]] = shorter[same]
        open_ = open_[~fits]
        if not len(open_):
            break
    out[at] = result
    for i in np.flatnonzero(~plain & (magnitude > 0) & np.isfinite(magnitude)).tolist():
        out[i] = float(str(values[i]))
    return out


def _round(values: Floats, decimals: NDArray[np.int64]) -> Floats:
    """Values rounded to the given numbers of decimals (negative: to tens, hundreds, …)."""
    up = _TENS[np.minimum(np.maximum(decimals, 0), 22)]  # np.clip takes longer for a few values
    down = _TENS[np.minimum(np.maximum(-decimals, 0), 22)]
    rounded: Floats = np.rint(values * up / down) * down / up
    return rounded
