"""Reads values as JSON writers (strict or not) and Python write them. Nothing is executed."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator
from math import inf, isnan
from typing import Any

import orjson

# A completion with `\d` in it is not a mistake in rltui's code, and a warning would disturb the screen.
warnings.filterwarnings("ignore", module="<unknown>")

NO_VALUE = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
"""What `literal` and `expression` raise for a text that they cannot read."""


def literal(text: str) -> Any:
    """The value of a text that consists of numbers, strings, lists, dicts, sets and tuples."""
    return ast.literal_eval(text)


def expression(text: str) -> ast.expr:
    """The syntax tree of one expression."""
    return ast.parse(text, mode="eval").body


_NOT_FINITE = frozenset(
    word for name in (b"NaN", b"Infinity", b"-Infinity", b"nan", b"inf", b"-inf") for word in (name, b'"%s"' % name)
)
NONFINITE = inf
"""Stands for a cell that was written as NaN or an infinity, until the rows are built."""


def number(text: bytes) -> float | None:
    """The number; NONFINITE for NaN and infinities (bare or quoted); None for any other text."""
    if text[:1] in b"-0123456789" and text:
        try:
            return finite_or_marked(float(orjson.loads(text)))
        except (ValueError, TypeError, OverflowError):
            pass
    if text in _NOT_FINITE:
        return NONFINITE
    if text == b"true":
        return 1.0
    if text == b"false":
        return 0.0
    return None


def lenient(line: bytes) -> Any:
    """Reads JSON as Python writes it: with NaN and Infinity, and with integers of any length (one that Python refuses
    to read becomes infinite). Raises ValueError or RecursionError."""
    text = line.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # more digits than sys.get_int_max_str_digits()
        return json.loads(text, parse_int=float)


def finite_or_marked(value: float) -> float:
    return NONFINITE if isnan(value) or value in (inf, -inf) else value


def leaves(text: bytes, path: str) -> Iterator[tuple[str, float]]:
    """The numbers in a JSON object, with nested keys joined by ".". A media object (with `_type`) gives none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return
    stack: list[tuple[str, object]] = [(path, found)]
    while stack:
        key, value = stack.pop()
        if isinstance(value, dict):
            if "_type" not in value:
                stack += [(f"{key}.{name}", inner) for name, inner in reversed(value.items())]
        elif isinstance(value, bool | int | float):
            try:
                yield key, finite_or_marked(float(value))
            except OverflowError:
                continue
        elif isinstance(value, str) and value.encode("utf-8", "replace") in _NOT_FINITE:
            yield key, NONFINITE
