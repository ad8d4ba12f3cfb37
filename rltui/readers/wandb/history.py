"""History records of W&B to cells: which row, which key, which number.

Records come in batches. Items are `0a LEN (0a|12) LEN key 82 01 LEN json`, in random order. In a batch the items are
found as the places of `82 01`; a row is taken so only if the lengths chain from its first byte to its last, so that
no accident of bytes can pass for an item. All other rows (long or nested items, media) are decoded field by field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import orjson
from numpy.typing import NDArray

from rltui.readers.base import NO_STEP
from rltui.readers.json_number import NONFINITE, leaves, number
from rltui.readers.key_table import KeyTable
from rltui.readers.protobuf import BYTES, WireError, fields, last, signed, varint

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_KEY, _NESTED_KEY, _VALUE_JSON = 1, 2, 16
_PAD = b"\0" * 272  # the farthest that a length byte can point behind the end
FEW = 4
"""A batch of fewer rows is decoded field by field: the arrays would cost more."""


@dataclass(slots=True)
class Cells:
    """Cells of `count` rows. `keys` are numbers of a KeyTable; a value of NONFINITE was written as NaN or infinity.
    `steps` are those of the records (NO_STEP where a record states none)."""

    count: int
    steps: Ints
    rows: Ints
    keys: Ints
    values: Floats
    undecodable: list[int] = field(default_factory=list)  # rows that are not protobuf


def decode(records: list[bytes], table: KeyTable) -> Cells:
    """The cells of HistoryRecord messages, one row each, in order."""
    steps = [NO_STEP] * len(records)
    rows: list[int] = []
    keys: list[int] = []
    values: list[float] = []
    undecodable: list[int] = []
    found: list[tuple[Ints, Ints, Floats]] = []
    slow: list[int] = list(range(len(records)))
    if len(records) >= FEW:
        bodies = []
        quick = []
        slow = []
        for i, record in enumerate(records):
            tail = _step_at_end(record)
            if tail is None:
                slow.append(i)
            else:
                quick.append(i)
                bodies.append(record[: tail[0]])
                steps[i] = tail[1]
        if bodies:
            numbers: Ints = np.array(quick, dtype=np.int64)
            at, key, value, refused = _items(bodies, table)
            found.append((numbers[at], key, value))
            slow += numbers[refused].tolist()
    for i in slow:
        try:
            step, items = _message(records[i])
        except WireError:
            undecodable.append(i)
            continue
        steps[i] = step
        for name, value_ in items:
            rows.append(i)
            keys.append(table.number(name))
            values.append(value_)
    found.append((np.array(rows, dtype=np.int64), np.array(keys, dtype=np.int64), np.array(values, dtype=np.float64)))
    parts = list(zip(*found, strict=True))
    return Cells(
        count=len(records),
        steps=np.array(steps, dtype=np.int64),
        rows=np.concatenate(parts[0]),
        keys=np.concatenate(parts[1]),
        values=np.concatenate(parts[2]),
        undecodable=sorted(undecodable),
    )


def _step_at_end(record: bytes) -> tuple[int, int] | None:
    """Where the items end and the step that stands behind them; None where the end is of another shape."""
    if record[-2:] == b"\x12\x00":
        return len(record) - 2, 0
    for length in (2, 3, 4, 5, 6):
        if len(record) < length + 2:
            break
        if record[-length] == 8 and record[-length - 1] == length and record[-length - 2] == 0x12:
            step, end = varint(record, len(record) - length + 1)
            return (len(record) - length - 2, step) if end == len(record) else None
    return None


def _items(bodies: list[bytes], table: KeyTable) -> tuple[Ints, Ints, Floats, Ints]:
    """Row, key and value of each item; and the rows that have to be decoded otherwise."""
    sizes: Ints = np.fromiter(map(len, bodies), dtype=np.int64, count=len(bodies))
    ends = np.cumsum(sizes)
    starts = ends - sizes
    raw = bytearray().join([*bodies, _PAD])
    b = np.frombuffer(raw, dtype=np.uint8)
    mark = np.flatnonzero(b == 0x82)
    mark = mark[b[np.minimum(mark + 1, len(b) - 1)] == 1]
    good_rows = sizes == 0
    if not len(mark):
        none: Ints = np.zeros(0, dtype=np.int64)
        return none, none, np.zeros(0), np.flatnonzero(~good_rows)
    row = np.repeat(np.arange(len(bodies)), np.diff(np.searchsorted(mark, ends), prepend=0))
    opens = np.flatnonzero(np.diff(row, prepend=-1))  # the first item of each row
    size = b[mark + 2].astype(np.int64)
    value = mark + 3
    end = value + size
    key = np.empty_like(mark)
    key[1:] = end[:-1] + 4
    key[opens] = starts[row[opens]] + 4
    length = mark - key
    key_tag = b[key - 2]
    chained = (b[key - 4] == 0x0A) & ((key_tag == 0x12) | (key_tag == 0x0A)) & (b[key - 1] == length)
    chained &= (b[key - 3] == end - key + 2) & (length < 128) & (end - key < 126) & (size < 128)
    first = b[value]
    chained &= (first != 0x7B) | (size == 0)  # an object: nested numbers or a medium
    closes = np.append(opens[1:], len(mark)) - 1
    good_rows[row[opens]] = np.logical_and.reduceat(chained, opens) & (end[closes] == ends[row[closes]])
    kept = good_rows[row]
    if not kept.all():
        row, key, length, value, end, size, first = (a[kept] for a in (row, key, length, value, end, size, first))
    second = b[value + 1]
    plain = (size > 0) & (_digit(first) | ((first == 0x2D) & (size > 1) & _digit(second)))
    floats = np.full(len(row), np.nan)
    for i in np.flatnonzero(~plain).tolist():
        odd = number(bytes(raw[value[i] : end[i]]))
        if odd is not None:
            floats[i] = odd
    keys = table.numbers(b, key, length)
    parsed = _numbers(b, value[plain], end[plain])
    if parsed is None:
        return row[:0], row[:0], floats[:0], np.flatnonzero(sizes > 0)
    floats[plain] = parsed
    there = floats == floats
    if not there.all():
        row, keys, floats = row[there], keys[there], floats[there]
    return row, keys, floats, np.flatnonzero(~good_rows)


def _digit(byte: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return (byte >= 0x30) & (byte <= 0x39)


def _numbers(b: NDArray[np.uint8], starts: Ints, ends: Ints) -> Floats | None:
    """The JSON numbers between the positions, parsed at once; None where one of them is none.

    Each text begins with a digit or a minus. All are set side by side as one JSON array; if that parses to as many
    elements as there are texts, each text is one number. Overwrites the byte behind each text.
    """
    if not len(starts):
        return np.zeros(0)
    b[ends] = 0x2C  # what stands behind a value is the head of the next item, which is read already
    sizes = ends - starts + 1
    after = np.cumsum(sizes)
    index = np.arange(after[-1])
    index += np.repeat(starts - after + sizes, sizes)
    joined = b[index].tobytes()
    try:
        parsed = orjson.loads(b"[" + joined[:-1] + b"]")
        numbers: Floats = np.fromiter(parsed, dtype=np.float64, count=len(parsed))
    except (ValueError, TypeError, OverflowError):
        return None
    if numbers.shape != starts.shape:
        return None
    numbers[~np.isfinite(numbers)] = NONFINITE
    return numbers


def _message(record: bytes) -> tuple[int, list[tuple[bytes, float]]]:
    """Step and cells of one record, field by field. Numbers under a medium (`_type` beside them) are not metrics."""
    step = NO_STEP
    found: list[tuple[list[bytes], bytes]] = []
    media: set[bytes] = set()
    for field_, wire, value in fields(record):
        if field_ == 1 and isinstance(value, bytes):
            path, text = _item(value)
            if path:
                found.append((path, text))
                if len(path) > 1 and path[-1] == b"_type":
                    media.add(b".".join(path[:-1]))
        elif field_ == 2 and wire == BYTES and isinstance(value, bytes):
            stated = last(value, 1)
            step = signed(stated) if isinstance(stated, int) else 0
    cells: list[tuple[bytes, float]] = []
    for path, text in found:
        if media and any(b".".join(path[:n]) in media for n in range(1, len(path))):
            continue
        cells += _cells(b".".join(path), text)
    return step, cells


def _item(item: bytes) -> tuple[list[bytes], bytes]:
    path: list[bytes] = []
    text = b""
    for number_, _, value in fields(item):
        if isinstance(value, bytes):
            if number_ == _NESTED_KEY or (number_ == _KEY and value):
                path.append(value)
            elif number_ == _VALUE_JSON:
                text = value
    return path, text


def _cells(name: bytes, text: bytes) -> Iterator[tuple[bytes, float]]:
    value = number(text)
    if value is not None:
        yield name, value
    elif text[:1] == b"{":
        for path, leaf in leaves(text, name.decode("utf-8", "replace")):
            yield path.encode("utf-8", "replace"), leaf
