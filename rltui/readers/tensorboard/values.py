"""What a TensorBoard Summary.Value holds: a scalar, a float32 of which is the decimal that was meant (0.1, not
0.10000000149011612), or config as text or HParams."""

from __future__ import annotations

import json
import struct

import numpy as np
from numpy.typing import NDArray

from rltui.readers.base import ConfigRecord, Record
from rltui.readers.config_file import flatten
from rltui.readers.literals import NONFINITE
from rltui.readers.protobuf import FIXED32, double, fields, last, messages, signed, text, varint

_SIMPLE_VALUE, _TENSOR, _METADATA = 2, 8, 9
_DTYPE, _CONTENT, _STRINGS = 1, 4, 8
_FLOAT, _DOUBLE, _HALF = 1, 2, 19
_STORED = {_FLOAT: "<f4", _DOUBLE: "<f8", 3: "<i4", 9: "<i8", 10: "<i1", _HALF: "<f2"}  # DataType -> tensor_content
_ELEMENTS = (5, 6, 7, 10, 11, 13)  # float_val, double_val, int_val, int64_val, bool_val, half_val
_TEXT_SUFFIX = "/text_summary"
_HPARAMS = "_hparams_/session_start_info"


def scalar(item: bytes) -> float | None:
    """The number, NONFINITE for one that is not finite; None where the value is something else."""
    number: float | None = None
    for field, wire, value in fields(item):
        if field == _SIMPLE_VALUE and wire == FIXED32 and isinstance(value, bytes):
            number = _single(value)
        elif field == _TENSOR and isinstance(value, bytes) and _plugin(item)[0] in ("", "scalars"):
            number = _element(value)
    if number is None:
        return None
    return number if np.isfinite(number) else NONFINITE


def config(tag: str, item: bytes) -> list[Record]:
    """Config that a value carries: JSON text under `NAME/text_summary` (transformers: args, model_config), HParams.

    The keys of `args` stand bare; those of any other text tag under its name."""
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
    """Name and content of the plugin data in a value's metadata."""
    data = _bytes(last(_bytes(last(item, _METADATA)), 1))
    return text(last(data, 1)), _bytes(last(data, 2))


def _element(tensor: bytes) -> float | None:
    """The one element of a tensor of numbers; None for other tensors."""
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


Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

_SMALLEST, _LARGEST = 1e-12, 1e12
"""In between, the powers of ten that scale to nine digits are exact in float64, so a quotient by them is correctly
rounded: it is the float64 next to the decimal."""
_TENS: Floats = np.array([10.0**n for n in range(23)])


def shortest(values: Singles) -> Floats:
    """Each value as the float64 nearest to the shortest decimal that reads back as the same float32, what
    `float(str(numpy.float32(x)))` gives. Infinities and NaN stay.

    Seven digits are tried for all at once, then six, eight and nine for the few that need it; outside 1e-12..1e12
    numpy's own printing decides.
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
    """Values rounded to so many decimals (negative: tens)."""
    up = _TENS[np.minimum(np.maximum(decimals, 0), 22)]  # np.clip takes longer for so few
    down = _TENS[np.minimum(np.maximum(-decimals, 0), 22)]
    rounded: Floats = np.rint(values * up / down) * down / up
    return rounded
