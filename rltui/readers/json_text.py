"""Reads JSON as people save it: in lines, with comments, trailing commas or Python's words, as several documents in a
file, or cut off."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import orjson

from rltui.lazy_regex import lazy
from rltui.readers.literals import lenient, literal

_STRING = r'"(?:\\.|[^"\\\n])*"'
_COMMENT = lazy(rf"({_STRING})|//[^\n]*|/\*[\s\S]*?\*/|#[^\n]*")
_LAST_COMMA = lazy(rf"({_STRING})|,(?=\s*[\]}}])")
_TOKEN = lazy(rf"{_STRING}|'(?:\\.|[^'\\\n])*'|[\"']|\w?[\[({{]|[\])}},]")
_WRAPPED = lazy(r"\b(?:[a-z]+\.)?(?:tensor|array|float\d*|int\d*)\((\[[^\[\]()]*\]|[^\[\]()]*?)(?:, *[a-z]+=[^()]*)?\)")
_PYTHON = lazy(r"['(]|\d:")
"""Python syntax that JSON does not have."""
_NOT_FINITE = lazy(r"\b(?:nan|inf|NaN|Infinity)\b")
_INFINITE = "1e999"
"""A literal that Python reads as infinite. It replaces NaN and all infinities: only that a value is not finite
matters."""
MAX_LITERAL = 1 << 24
"""The longest text that is read as Python literals, which take twenty times the memory of JSON."""
_CLOSES = {"[": "]", "{": "}", "(": ")"}
_TRIES = 4
"""How many of the last places are tried as the end of a text that is cut off: the text after them may be damaged."""


def documents(text: bytes) -> list[Any]:
    """The documents of a file, usually one. Raises ValueError or RecursionError."""
    try:
        return [lenient(text)]
    except json.JSONDecodeError:
        pass
    plain = _cleaned(text.decode("utf-8", "replace"))
    try:
        return _several(plain)
    except ValueError:
        if len(plain) > MAX_LITERAL or not _PYTHON.search(plain, 0, 1000):
            raise
        return [_literal(part) for part in _parts(plain)]


def whole_part(text: bytes) -> list[Any]:
    """The documents in the complete part of a file that is cut off. Raises ValueError or RecursionError."""
    for _, closed in cut_short(_cleaned(text.decode("utf-8", "replace"))):
        try:
            return documents(closed.encode())
        except ValueError:
            continue
    raise ValueError("nothing of it is complete")


def cut_short(text: str) -> Iterator[tuple[int, str]]:
    """The places where complete rows or columns end in a text that is cut off, the last one first. With each comes the
    text up to there, with its open brackets closed."""
    open_: list[str] = []
    ends: deque[tuple[int, str]] = deque(maxlen=_TRIES)
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word[-1] in _CLOSES:
            open_.append(word)
        elif word in _CLOSES.values():
            if not open_ or _CLOSES[open_.pop()[-1]] != word:
                break
            if _is_between(open_, word):
                ends.append((token.end(), _closing(open_)))
        elif word == "," and _is_between(open_, word):
            ends.append((token.start(), _closing(open_)))
        elif word in "\"'":
            break  # a string that is cut off
    for end, closing in reversed(ends):
        yield end, text[:end] + closing


def _closing(open_: list[str]) -> str:
    return "".join(_CLOSES[word[-1]] for word in reversed(open_))


def _is_between(open_: list[str], word: str) -> bool:
    """Whether this bracket or comma ends a whole row or column, or a cell of a column; False if it ends a part of a
    row."""
    lists = [word != "{" for word in open_ if len(word) == 1 or word[-1] != "("]  # without calls like `array(`
    if any(outer for outer, _ in pairwise(lists)):
        return False  # in a row within a list
    return len(lists) < 2 or lists[-1] or word == "]"


def end_of(text: str, at: int = 0) -> int | None:
    """The place after the bracket that closes the first one opened after `at`; None if that one does not close."""
    open_: list[str] = []
    for token in _TOKEN.finditer(text, at):
        word = token[0]
        if word[-1] in _CLOSES:
            open_.append(_CLOSES[word[-1]])
        elif word in _CLOSES.values():
            if not open_ or open_.pop() != word:
                return None
            if not open_:
                return token.end()
    return None


def is_alone(text: bytes, whole: bool) -> bool:
    """Whether a text is one list or dict and nothing else. If `whole` is False, the text is only the beginning, and the
    answer is whether it may be one."""
    if not text.startswith((b"{", b"[")):
        return False
    decoded = text.decode("utf-8", "replace")
    end = end_of(decoded)
    return not whole if end is None else not decoded[end:].strip()


def depth_of(text: str) -> int:
    """How many more brackets a text opens than it closes."""
    words = [token[0][-1] for token in _TOKEN.finditer(text)]
    return sum(word in _CLOSES for word in words) - sum(word in _CLOSES.values() for word in words)


def _cleaned(text: str) -> str:
    def kept(found: re.Match[str]) -> str:
        return found[1] or ""

    text = text.replace("\0", "")
    if "//" in text or "/*" in text or "#" in text:
        text = _COMMENT.sub(kept, text)
    return _LAST_COMMA.sub(kept, text)


def _several(text: str) -> list[Any]:
    decoder, out, at = json.JSONDecoder(), [], 0
    while at < len(text):
        if text[at].isspace() or text[at] == ",":
            at += 1
            continue
        found, at = decoder.raw_decode(text, at)
        out.append(found)
    if not out:
        raise ValueError("no document")
    return out


def _parts(text: str) -> list[str]:
    """The texts of several documents, one after the other."""
    out, at = [], 0
    while (end := end_of(text, at)) is not None and text[end:].strip():
        out.append(text[at:end])
        at = end
    return [*out, text[at:]]


def _literal(text: str) -> Any:
    """Reads what `print(history)` and `repr` of tensors and arrays write."""
    try:
        return _plain(literal(_NOT_FINITE.sub(_INFINITE, _WRAPPED.sub(r"\1", text)).strip()))
    except (SyntaxError, MemoryError, TypeError) as error:
        raise ValueError(str(error)) from None


def _plain(value: Any) -> Any:
    """The value in JSON's types: lists instead of tuples, and text for what JSON does not have."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key if isinstance(key, str | int | float) else str(key): _plain(part) for key, part in value.items()}
    return value if value is None or isinstance(value, str | int | float) else str(value)


Object = dict[str, object]
_SIDE_BY_SIDE = lazy(rb"\}\s*,?\s*\{")


def _side_by_side(line: bytes) -> list[Object] | None:
    """The objects of a line that holds several because line ends were lost or came late; None for any other line."""
    if not line.lstrip().startswith(b"{") or _SIDE_BY_SIDE.search(line) is None:
        return None
    try:
        found = _several(line.decode("utf-8", "replace").replace("\0", ""))
    except (ValueError, RecursionError):
        return None
    return found if len(found) > 1 and all(isinstance(row, dict) for row in found) else None


class ObjectLines:
    """Reads the lines of one file. `number`: the number of the newest line; `skip` is called with the reason if a line
    is left out. `strange`: the newest lines that are not JSON, with their numbers; the caller takes them from there."""

    def __init__(self, skip: Callable[[str], None]) -> None:
        self.number = 0
        self._skip = skip
        self.strange: list[tuple[int, bytes]] = []

    def read(self, lines: list[bytes]) -> Iterator[tuple[int, list[Object], bool]]:
        """Yields rows of consecutive lines: the number of the first line, the rows, and whether they were strict JSON
        (in which no number is NaN or infinite)."""
        first = self.number + 1
        try:
            rows = list(map(orjson.loads, lines))
        except orjson.JSONDecodeError:
            rows = []
        if rows and set(map(type, rows)) == {dict}:
            self.number += len(rows)
            yield first, rows, True
            return
        rows, strict = [], True
        for text in lines:
            self.number += 1
            if (several := _side_by_side(text)) is not None:
                if rows:
                    yield first, rows, strict
                    rows = []
                yield from ((self.number, [row], False) for row in several)
                continue
            row, is_strict = self._parse_line(text)
            if rows and (row is None or strict != is_strict):
                yield first, rows, strict
                rows = []
            if row is not None:
                if not rows:
                    first, strict = self.number, is_strict
                rows.append(row)
        if rows:
            yield first, rows, strict

    def _parse_line(self, line: bytes) -> tuple[Object | None, bool]:
        """The object of a line, and whether it was strict JSON."""
        strict = True
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            if not line.strip():
                return None, True
            strict = False
            text = line.replace(b"\0", b"").strip().rstrip(b",")
            if text in (b"", b"[", b"]"):
                return None, True  # a list with one row in each line, still being written
            try:
                row = lenient(text)
            except (ValueError, RecursionError):
                self._skip("line that is not JSON")
                self.strange.append((self.number, line))
                begun = text.rfind(b'{"step"')
                if begun <= 0:
                    begun = text.rfind(b'{"')
                    if text[: max(begun, 0)].rstrip().endswith((b":", b"[", b",")):
                        begun = 0  # an object within this row
                if begun <= 0 or not text.endswith(b"}"):
                    return None, True
                return self._parse_line(
                    text[begun:]
                )  # a row cut off when its writer ended, then a row of the next launch
        if not isinstance(row, dict):
            self._skip("line that is not a JSON object")
            return None, True
        return row, strict
