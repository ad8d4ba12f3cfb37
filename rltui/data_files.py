"""Reads the program's own data files, JSON or TOML, and checks them against a type. A mismatch is an error with file
and line.

The type of a data file is a `Record`. It may also check its values in `__post_init__`, which raises ValueError.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from json import JSONDecoder
from json.decoder import WHITESPACE, scanstring  # type: ignore[attr-defined]
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import msgspec

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")
Key = str | int

_ANY = "[...]"
_STEP = r"\.([^.\[`]+)|\[(\d+)\]|(\[\.\.\.\])"
_PLACE = r" - at (`key` in )?`\$([\s\S]*?)`$"
_UNKNOWN = r"unknown field `(.*?)`"
_BYTE = r" \(byte (\d+)\)$"


class DataError(ValueError):
    """A data file does not have the content that its type requires. `line` counts from 1."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}")
        self.file, self.line, self.problem = file, line, problem


@dataclass_transform(frozen_default=True, kw_only_default=False, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object in a data file, with exactly the declared fields and types."""


_ONE_AT_A_TIME = RLock()
"""msgspec crashes the process if two threads analyse the same type at once."""

READERS: list[Callable[[], object]] = []
"""The functions that `kept` made in the loaded modules."""


def kept(reader: Callable[[], T]) -> _lru_cache_wrapper[T]:
    """Makes a function the reader of one data file: it reads the file once, and `rltui doctor` calls it too."""
    once = cache(reader)
    READERS.append(once)
    return once


def read(file: Path, kind: type[T]) -> T:
    """The content of a whole file as `kind`. Raises DataError."""
    return (decode_toml if file.suffix == ".toml" else decode)(file.read_bytes(), kind, str(file))


def decode(text: bytes, kind: type[T], file: str) -> T:
    """The JSON text of a file as `kind`; `file` is its name in errors. Raises DataError."""
    try:
        text.decode()  # for bytes that are not text, each version of msgspec reports a different error
        with _ONE_AT_A_TIME:
            return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        keys, problem = _place(msgspec.json.decode(text), kind, str(error))
        raise wrong(text, file, keys, problem) from None
    except msgspec.DecodeError as error:
        byte = re.search(_BYTE, str(error))
        before = text[: int(byte[1])] if byte else text.rstrip()
        raise DataError(file, before.count(b"\n") + 1, re.sub(_BYTE, "", str(error))) from None
    except UnicodeDecodeError as error:
        raise DataError(file, _line_of_byte(text), f"not UTF-8: {error.reason}") from None


def decode_toml(text: bytes, kind: type[T], file: str) -> T:
    """Like `decode`, for TOML. The line of an error is that of the key in its table, or of the table."""
    try:
        tree = tomllib.loads(text.decode())
        with _ONE_AT_A_TIME:
            return msgspec.convert(tree, kind)
    except msgspec.ValidationError as error:
        keys, problem = _place(tree, kind, str(error))
        place = ".".join(str(key) for key in keys)
        raise DataError(file, _toml_line(text.decode(), keys), f"{place}: {problem}" if place else problem) from None
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise DataError(file, int(line[1]) if line else text.count(b"\n") + 1, str(error)) from None
    except UnicodeDecodeError as error:
        raise DataError(file, _line_of_byte(text), f"not UTF-8: {error.reason}") from None


def wrong(text: bytes, file: str, keys: Sequence[Key], problem: str) -> DataError:
    """The error that reports `problem` for the value at the path `keys`. For conditions that a type cannot express (a
    name that another file must contain)."""
    place = ".".join(str(key) for key in keys)
    return DataError(file, line_of(text, keys), f"{place}: {problem}" if place else problem)


def line_of(text: bytes, keys: Sequence[Key]) -> int:
    """The line of the value at the path `keys` (names and indices from the top), or of the last key that exists."""
    source = text.decode()
    at = place = _blank(source, 0)
    for key in keys:
        found = _child(source, at, key)
        if found is None:
            break
        place, at = found
    return source.count("\n", 0, place) + 1


def _child(source: str, at: int, wanted: Key) -> tuple[int, int] | None:
    """Where the member `wanted` of the object or list at `at` begins (its key, or the list item), and where its value
    begins. None if there is no such member."""
    is_object = source[at] == "{"
    if not is_object and source[at] != "[":
        return None
    at = _blank(source, at + 1)
    index = 0
    while source[at] not in "]}":
        place: int = at
        name: Key = index
        if is_object:
            name, at = scanstring(source, at + 1)
            at = _blank(source, _blank(source, at) + 1)
        if name == wanted:
            return place, at
        at = _blank(source, JSONDecoder().raw_decode(source, at)[1])
        if source[at] == ",":
            at = _blank(source, at + 1)
        index += 1
    return None


def _blank(source: str, at: int) -> int:
    return int(WHITESPACE.match(source, at).end())


def _toml_line(source: str, keys: Sequence[Key]) -> int:
    """The line of the value at the path `keys` in a file of tables and lists of tables, or else of the last key that
    exists."""
    wanted = [str(key) for key in keys]
    found, table, seen = 1, "", Counter[str]()
    for number, line in enumerate(source.splitlines(), 1):
        if header := re.fullmatch(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?\s*(?:#.*)?", line):
            table = f"{header[1]}.{seen[header[1]]}" if line.lstrip().startswith("[[") else header[1]
            seen[header[1]] += 1
            path = table
        elif key := re.match(r"\s*([\w-]+)\s*=", line):
            path = f"{table}.{key[1]}" if table else key[1]
        else:
            continue
        if path.split(".") == wanted[: path.count(".") + 1]:
            found = number
    return found


def _place(tree: Any, kind: Any, message: str) -> tuple[list[Key], str]:
    """The keys of the value that an error is about, and the error without its place.

    The library writes `[...]` for any value in a table. The value meant is the one that causes an error at the same
    place even if it is alone in the table.
    """
    match = re.search(_PLACE, message)
    problem = message[: match.start()] if match else message
    node = tree
    keys: list[Key] = []
    steps = re.findall(_STEP, match[2] if match else "")
    if match and match[1]:
        steps.append(("", "", _ANY))
    for name, index, many in steps:
        key = _culprit(tree, node, kind, match[0]) if match and many else int(index) if index else name
        if key is None:
            break
        keys.append(key)
        node = node[key]
    unknown = re.search(_UNKNOWN, problem)
    return ([*keys, unknown[1]] if unknown else keys), problem


def _culprit(tree: Any, node: Any, kind: Any, place: str) -> Key | None:
    """The key of the entry of the table `node` that is wrong at `place`. Removes the other entries from `node`."""
    if not isinstance(node, dict):
        return None
    entries = dict(node)
    for key, value in entries.items():
        node.clear()
        node[key] = value
        try:
            msgspec.convert(tree, kind)
        except msgspec.ValidationError as error:
            if str(error).endswith(place):
                return str(key)
    return None


def _line_of_byte(text: bytes) -> int:
    """The line of the first byte that is not UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return text.count(b"\n", 0, error.start) + 1
    return 1
