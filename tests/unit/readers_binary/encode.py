"""Small writers of the two binary containers, as their specifications have them: test files without the libraries."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from zlib import crc32

from rltui.readers.tensorboard.records import masked_crc32c

BLOCK = 32768


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: bytes | str | int | float) -> bytes:
    """A field: bytes and text length-delimited, int as varint, float as double."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# -- W&B ---------------------------------------------------------------------------------------------------------------


def blocks(records: Sequence[bytes], header: bytes = b":W&B\xe1\xbe\x00") -> tuple[bytes, list[int]]:
    """A log file of the records, and the offset in it at which each record ends."""
    out = bytearray(header)
    ends = []
    for record in records:
        first, rest = True, record
        while first or rest:
            left = BLOCK - len(out) % BLOCK
            if left < 7:
                out += bytes(left)
                left = BLOCK
            chunk, rest = rest[: left - 7], rest[left - 7 :]
            kind = (2 if rest else 1) if first else (3 if rest else 4)
            out += struct.pack("<IHB", crc32(chunk, crc32(bytes([kind]))), len(chunk), kind) + chunk
            first = False
        ends.append(len(out))
    return bytes(out), ends


def items(cells: Mapping[str | tuple[str, ...], str], nested: bool = True) -> bytes:
    """Items of a history record: key (a tuple is a nested key) to JSON text."""
    out = b""
    for key, text in cells.items():
        if isinstance(key, tuple):
            path = b"".join(field(2, part) for part in key)
        else:
            path = field(2 if nested else 1, key)
        out += field(1, path + field(16, text))
    return out


def history(number: int, cells: Mapping[str | tuple[str, ...], str], step: int | None = None) -> bytes:
    tail = b"" if step is None else field(2, field(1, step) if step else b"")
    return field(1, number) + field(2, items(cells) + tail)


def summary(number: int, cells: Mapping[str | tuple[str, ...], str]) -> bytes:
    return field(1, number) + field(3, items(cells))


def output(number: int, text: str, stream: int = 1, seconds: int = 1_700_000_000) -> bytes:
    return field(1, number) + field(
        13, (field(1, stream) if stream else b"") + field(2, field(1, seconds)) + field(3, text)
    )


# -- TensorBoard -------------------------------------------------------------------------------------------------------


def tfrecords(events: Sequence[bytes]) -> tuple[bytes, list[int]]:
    """An event file, and the offset in it at which each record ends."""
    out = bytearray()
    ends = []
    for event in events:
        length = struct.pack("<Q", len(event))
        out += length + struct.pack("<I", masked_crc32c(length)) + event + struct.pack("<I", masked_crc32c(event))
        ends.append(len(out))
    return bytes(out), ends


def event(step: int, *values: bytes, wall: float = 1.7e9) -> bytes:
    return field(1, wall) + (field(2, step) if step else b"") + field(5, b"".join(field(1, v) for v in values))


def simple(tag: str, value: float) -> bytes:
    return field(1, tag) + varint(2 << 3 | 5) + struct.pack("<f", value)


def plugin(name: str, content: bytes = b"") -> bytes:
    return field(9, field(1, field(1, name) + field(2, content)))
