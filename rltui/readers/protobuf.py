"""The parts of protobuf's wire format that the logs of W&B, SwanLab and TensorBoard use; without a schema."""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_DOUBLE = struct.Struct("<d")


class WireError(ValueError):
    """The bytes are not a protobuf message."""


def varint(data: bytes, pos: int) -> tuple[int, int]:
    """The unsigned varint at `pos` and the position after it."""
    value = shift = 0
    try:
        while True:
            byte = data[pos]
            pos += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value, pos
            shift += 7
            if shift > 63:
                raise WireError(f"varint too long at byte {pos}")
    except IndexError:
        raise WireError("varint runs past the end") from None


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Field number, wire type and value of each field, in file order. The value is an int for a varint, else the raw
    bytes (8, 4 or as many as the field holds). Raises WireError at bytes that are not protobuf."""
    pos, end = 0, len(data)
    while pos < end:
        tag, pos = varint(data, pos)
        wire = tag & 7
        if wire == VARINT:
            value, pos = varint(data, pos)
            yield tag >> 3, wire, value
            continue
        if wire == BYTES:
            length, pos = varint(data, pos)
        elif wire == FIXED64:
            length = 8
        elif wire == FIXED32:
            length = 4
        else:
            raise WireError(f"wire type {wire}")
        if length > end - pos:
            raise WireError("field runs past the end")
        yield tag >> 3, wire, data[pos : pos + length]
        pos += length


def messages(data: bytes, number: int) -> Iterator[bytes]:
    """The length-delimited values of one field."""
    for field, _, value in fields(data):
        if field == number and isinstance(value, bytes):
            yield value


def last(data: bytes, number: int) -> int | bytes | None:
    """The last value of a field, which is the valid one if the field is not repeated; None if it is absent."""
    found: int | bytes | None = None
    for field, _, value in fields(data):
        if field == number:
            found = value
    return found


def text(value: int | bytes | None) -> str:
    """A string field; empty if it is absent or not a string."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def signed(value: int) -> int:
    """A varint as the int64 that it encodes in two's complement."""
    return value - (1 << 64) if value >= 1 << 63 else value


def double(value: int | bytes | None) -> float | None:
    """A double field; None if it is absent or of another type."""
    return float(_DOUBLE.unpack(value)[0]) if isinstance(value, bytes) and len(value) == 8 else None


def timestamp(value: int | bytes | None) -> float | None:
    """A google.protobuf.Timestamp as seconds since the epoch."""
    if not isinstance(value, bytes):
        return None
    seconds, nanos = last(value, 1), last(value, 2)
    return (signed(seconds) if isinstance(seconds, int) else 0) + (nanos * 1e-9 if isinstance(nanos, int) else 0.0)
