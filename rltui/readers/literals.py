"""Values as JSON writers (strict or not) and Python put them down. Nothing is executed."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator
from math import inf, isnan
from typing import Any

import orjson

from rltui.lazy_regex import lazy
from rltui.readers.console.name_words import has_word, words
from rltui.readers.keys import names
from rltui.readers.number_text import NUMBER, unwrapped, value

# A completion with `\d` in it is no mistake in rltui's code, and the terminal belongs to the screen.
warnings.filterwarnings("ignore", module="<unknown>")

NO_VALUE = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
"""What `literal` and `expression` raise of a text that is none."""


def literal(text: str) -> Any:
    """The numbers, strings, lists, dicts, sets and tuples that the text says."""
    return ast.literal_eval(text)


def expression(text: str) -> ast.expr:
    """The syntax tree of one expression."""
    return ast.parse(text, mode="eval").body


_CELL = lazy(rf"['\"]([^'\"]{{1,300}})['\"]: ?['\"]?(?:\[({NUMBER})\]|({NUMBER}))['\"]?(?=[,}}\s]|$)")


_NAN = lazy(r"(?<![\w'\"])(?:nan|-?inf)(?![\w'\"])")


def dict_cells(text: str) -> dict[str, float]:
    """Key to number; what is no number is left out. Where keys of objects within come twice, those around them stand
    before them: `rewards/mean`, `lengths/mean`. So do those that say of what their numbers are."""
    if text.count("{") > 1 and (nested := _parsed(text[text.find("{") :])) is not None:
        return nested
    return {key: value(listed or text) for key, listed, text in _CELL.findall(unwrapped(text))}


def _parsed(text: str) -> dict[str, float] | None:
    """The numbers of a dict that holds others; None if it cannot be parsed."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            found = literal(_NAN.sub("None", unwrapped(text)))
        except NO_VALUE:
            return None
    if not isinstance(found, dict):
        return None
    cells: dict[str, float] = {}
    stack: list[tuple[str, object]] = [(str(key), member) for key, member in reversed(found.items())]
    while stack:
        key, member = stack.pop()
        if isinstance(member, dict):
            stack += [(f"{key}\0{name}", inner) for name, inner in reversed(member.items())]
        elif isinstance(member, int | float) and not isinstance(member, bool):
            cells[key] = float(member)
    own = list(map(_own, cells))
    unique = len(set(own)) == len(own)
    return dict(zip(own if unique else (key.replace("\0", "/") for key in cells), cells.values(), strict=True))


def _own(path: str) -> str:
    """The name of a number without the objects that it stands in, but for those of times and of evaluations: `gen` of
    `timing` is how long that took, and `accuracy` of `eval` none of training."""
    *above, name = path.split("\0")
    telling = words().timings | words().evaluation
    first = next((i for i, part in enumerate(above) if has_word(part, telling)), None)
    return name if first is None or name in names("step") else "/".join([*above[first:], name])


_NOT_FINITE = frozenset(
    word for name in (b"NaN", b"Infinity", b"-Infinity", b"nan", b"inf", b"-inf") for word in (name, b'"%s"' % name)
)
NONFINITE = inf
"""Stands for a cell that was written as NaN or an infinity, until rows are built."""


def number(text: bytes) -> float | None:
    """The number, NONFINITE for NaN and infinities (bare or quoted), None for whatever is no number."""
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
    """JSON as Python writes it: with NaN and Infinity, and with integers of any length (one that Python refuses to read
    is infinite). Raises ValueError or RecursionError."""
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
    """The numbers in a JSON object, keys joined with ".". A medium (an object with `_type`) holds none."""
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
