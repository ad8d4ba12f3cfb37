"""Turns history records of W&B into cells: row, key and number of each. Records come in batches. Their items are `0a
LEN (0a|12) LEN key 82 01 LEN json`, in random order. The items of a batch are found by the bytes `82 01`. This is only
trusted for a row if the lengths of its items lead from its first byte to its last, so that random bytes are not taken
for an item. All other rows (long or nested items, media) are decoded field by field."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from rltui.readers.base import NO_STEP
from rltui.readers.byte_texts import KeyTable, parsed
from rltui.readers.literals import leaves, number
from rltui.readers.protobuf import BYTES, WireError, fields, last, signed

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]

PAD = 272
"""The bytes of padding after the last message: as far as a length byte and a slot can reach."""
_LONGEST_VARINT = 5


class Messages(Struct):
    """Messages from `starts` to `ends` of a buffer, which has PAD more bytes after the last message."""

    buffer: Bytes
    starts: Ints
    ends: Ints

    @classmethod
    def joined(cls, messages: list[bytes]) -> Messages:
        ends = np.cumsum(np.fromiter(map(len, messages), dtype=np.int64, count=len(messages)))
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1]
        return cls(np.frombuffer(b"".join([*messages, bytes(PAD)]), dtype=np.uint8), starts, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, some: slice | Ints) -> Messages:
        return Messages(self.buffer, self.starts[some], self.ends[some])

    def each(self) -> list[bytes]:
        return [self.message(i) for i in range(len(self))]

    def message(self, i: int) -> bytes:
        return self.buffer[self.starts[i] : self.ends[i]].tobytes()


def in_records(records: list[bytes], tag: int) -> tuple[Messages, Ints]:
    """The messages in records of the usual shape, `08 NUMBER TAG LENGTH message`, and the indices of the other
    records."""
    every = Messages.joined(records)
    b, at = every.buffer, every.starts
    usual = (b[at] == 8) & (every.ends - at < 1 << 28)
    _, at, numbered = _varints(b, at + 1)
    length, start, sized = _varints(b, at + 1)
    usual &= numbered & sized & (b[at] == tag) & (start + length == every.ends)
    return Messages(b, start[usual], every.ends[usual]), np.flatnonzero(~usual)


def steps_at_end(messages: Messages) -> tuple[Ints, Ints]:
    """The end of each message's items, and the step `12 LENGTH 08 STEP` after them. If a message ends in another shape,
    its step is NO_STEP and its end is unchanged."""
    b, starts, ends = messages.buffer, messages.starts, messages.ends
    steps = np.full(len(ends), NO_STEP)
    items = ends.copy()
    zero = (ends - starts >= 2) & (b[ends - 2] == 0x12) & (b[ends - 1] == 0)
    for length in range(2 + _LONGEST_VARINT, 1, -1):  # the shortest that fits wins
        at = np.maximum(ends - length - 2, 0)
        fits = (at >= starts) & (b[at] == 0x12) & (b[at + 1] == length) & (b[at + 2] == 8)
        if not fits.any():
            continue
        step, end, whole = _varints(b, at + 3)
        fits &= whole & (end == ends)
        steps[fits], items[fits] = step[fits], at[fits]
    steps[zero], items[zero] = 0, ends[zero] - 2
    return items, steps


def _varints(b: Bytes, at: Ints) -> tuple[Ints, Ints, Bools]:
    """The varint at each place, the place after it, and whether it ends within five bytes."""
    at = at.copy()
    values = np.zeros_like(at)
    going = np.ones(len(at), dtype=np.bool_)
    for shift in range(0, 7 * _LONGEST_VARINT, 7):
        byte = b[at].astype(np.int64)
        values |= np.where(going, (byte & 127) << shift, 0)
        at += going
        going &= byte > 127
        if not going.any():
            break
    return values, at, ~going


_KEY, _NESTED_KEY, _VALUE_JSON = 1, 2, 16
FEW = 4
"""A batch with fewer rows than this is decoded field by field: arrays would take longer."""


class Cells(Struct):
    """Cells of `count` rows. `keys`: the keys' numbers in a KeyTable; `values`: NONFINITE for values written as NaN or
    infinity; `steps`: the steps of the records (NO_STEP if a record states none)."""

    count: int
    steps: Ints
    rows: Ints
    keys: Ints
    values: Floats
    undecodable: list[int] = field(default_factory=list)  # rows that are not protobuf


def decode(messages: Messages, table: KeyTable) -> Cells:
    """The cells of HistoryRecord messages, one row for each message, in order."""
    rows: list[int] = []
    keys: list[int] = []
    values: list[float] = []
    undecodable: list[int] = []
    found: list[tuple[Ints, Ints, Floats]] = []
    slow: Ints = np.arange(len(messages))
    steps = np.full(len(messages), NO_STEP)
    if len(messages) >= FEW:
        ends, steps = steps_at_end(messages)
        quick = np.flatnonzero(steps != NO_STEP)
        at, key, value, refused = _items(Messages(messages.buffer, messages.starts[quick], ends[quick]), table)
        found.append((quick[at], key, value))
        slow = np.sort(np.concatenate([np.flatnonzero(steps == NO_STEP), quick[refused]]))
    for i in slow.tolist():
        try:
            steps[i], items = _message(messages.message(i))
        except WireError:
            undecodable.append(i)
            steps[i] = NO_STEP
            continue
        for name, value_ in items:
            rows.append(i)
            keys.append(table.number(name))
            values.append(value_)
    found.append((np.array(rows, dtype=np.int64), np.array(keys, dtype=np.int64), np.array(values, dtype=np.float64)))
    parts = list(zip(*found, strict=True))
    return Cells(
        count=len(messages),
        steps=steps,
        rows=np.concatenate(parts[0]),
        keys=np.concatenate(parts[1]),
        values=np.concatenate(parts[2]),
        undecodable=undecodable,
    )


def _items(bodies: Messages, table: KeyTable) -> tuple[Ints, Ints, Floats, Ints]:
    """The row, key and value of each item, and the rows that must be decoded field by field."""
    b, starts, ends = bodies.buffer, bodies.starts, bodies.ends
    mark = np.flatnonzero(b == 0x82)
    mark = _within(mark[b[mark + 1] == 1], starts, ends)
    good_rows = starts == ends
    none: Ints = np.zeros(0, dtype=np.int64)
    if not len(mark):
        return none, none, np.zeros(0), np.flatnonzero(~good_rows)
    until = np.searchsorted(mark, ends)
    items = until.copy()  # of each row
    items[1:] -= until[:-1]
    filled = np.flatnonzero(items)
    opens, closes = (until - items)[filled], until[filled] - 1
    value = mark + 3
    size = b[mark + 2].astype(np.int64)
    end = value + size
    key = np.empty_like(mark)
    key[1:] = end[:-1] + 4
    key[opens] = starts[filled] + 4
    length = mark - key
    span = end - key + 2  # what the length of the item says
    heads = np.ndarray((len(b) - 3,), dtype="<u4", buffer=b, strides=(1,))[key - 4].astype(np.int64)
    expected = (length << 24) + (span << 8) + (_NESTED_KEY << 19 | 0x02000A)
    chained = heads == expected
    if not chained.all():
        chained |= heads == expected - (_NESTED_KEY - _KEY << 19)
    chained &= span < 128
    first = b[value]
    odd = first - np.uint8(0x30) > 9  # not a digit
    if odd.any():
        odd &= (first != 0x2D) | (b[value + 1] - np.uint8(0x30) > 9)
        chained &= (first != 0x7B) | (size == 0)  # an object: nested numbers or media
    good_rows[filled] = np.logical_and.reduceat(chained, opens) & (end[closes] == ends[filled])
    row = np.repeat(filled, items[filled])
    kept = good_rows[row]
    if not kept.all():
        row, key, length, value, size, odd = (a[kept] for a in (row, key, length, value, size, odd))
    floats = _numbers(b, value, size, odd)
    if floats is None:
        return none, none, np.zeros(0), np.flatnonzero(starts < ends)
    keys = table.numbers(b, key, length)
    there = floats == floats
    if not there.all():
        row, keys, floats = row[there], keys[there], floats[there]
    return row, keys, floats, np.flatnonzero(~good_rows)


def _within(mark: Ints, starts: Ints, ends: Ints) -> Ints:
    """The places in `mark` that are between a start and its end."""
    first, behind = np.searchsorted(mark, starts), np.searchsorted(mark, ends)
    if int((behind - first).sum()) == len(mark):
        return mark
    inside = np.zeros(len(mark) + 1, dtype=np.int64)
    np.add.at(inside, first, 1)
    np.subtract.at(inside, behind, 1)
    return mark[np.cumsum(inside)[:-1] > 0]


def _numbers(b: NDArray[np.uint8], starts: Ints, sizes: Ints, odd: NDArray[np.bool_]) -> Floats | None:
    """The JSON values at `starts` as numbers; NaN for other values. All values except the `odd` ones begin like numbers
    and are parsed at once. Returns None if one of those is not a number."""
    if not odd.any():
        return parsed(b, starts, sizes)
    numbers = np.full(len(starts), np.nan)
    plain = np.flatnonzero(~odd)
    found = parsed(b, starts[plain], sizes[plain])
    if found is None:
        return None
    numbers[plain] = found
    for i in np.flatnonzero(odd).tolist():
        value = number(b[starts[i] : starts[i] + sizes[i]].tobytes())
        if value is not None:
            numbers[i] = value
    return numbers


def _message(record: bytes) -> tuple[int, list[tuple[bytes, float]]]:
    """The step and cells of one record, decoded field by field. Numbers in a media object (with `_type`) are not
    metrics."""
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
