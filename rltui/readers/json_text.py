"""JSON as people save it: with comments, trailing commas, Python's words, several documents in one file, cut short."""

from __future__ import annotations

import json
import re
from typing import Any

from rltui.readers.json_number import lenient
from rltui.readers.python_text import literal

_STRING = r'"(?:\\.|[^"\\\n])*"'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*[\s\S]*?\*/|#[^\n]*")
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*[\]}}])")
_TOKEN = re.compile(rf"{_STRING}|'(?:\\.|[^'\\\n])*'|[\"']|[\[\]{{}},]")
_WRAPPED = re.compile(
    r"\b(?:[a-z]+\.)?(?:tensor|array|float\d*|int\d*)\((\[[^\[\]()]*\]|[^\[\]()]*?)(?:, *[a-z]+=[^()]*)?\)"
)
_WORD = re.compile(r"\b(nan|inf|NaN|Infinity)\b")
MAX_LITERAL = 1 << 24
"""Python's literals take twenty times the memory of JSON."""
_CLOSES = {"[": "]", "{": "}"}


def documents(text: bytes) -> list[Any]:
    """The documents of a file, most often one. Raises ValueError or RecursionError."""
    try:
        return [lenient(text)]
    except json.JSONDecodeError:
        pass
    plain = _cleaned(text.decode("utf-8", "replace"))
    try:
        return _several(plain)
    except ValueError:
        if len(plain) > MAX_LITERAL or "'" not in plain[:1000]:
            raise
        return [_literal(plain)]


def whole_part(text: bytes) -> list[Any]:
    """The same of a file that is cut off: what is complete of it. Raises ValueError or RecursionError."""
    plain = _cleaned(text.decode("utf-8", "replace"))
    open_, end = [], 0
    closing: list[str] = []
    for token in _TOKEN.finditer(plain):
        word = token[0]
        if word in "[{":
            open_.append(_CLOSES[word])
        elif word in "]}":
            if not open_ or open_.pop() != word:
                break
            end, closing = token.end(), open_[::-1]
        elif word == ",":
            end, closing = token.start(), open_[::-1]
        elif word in "\"'":
            break  # a string that goes on beyond the end
    return documents((plain[:end] + "".join(closing)).encode())


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


def _literal(text: str) -> Any:
    """What `print(history)` and `repr` of tensors and arrays write."""
    try:
        return literal(_WORD.sub("None", _WRAPPED.sub(r"\1", text)).strip())
    except (SyntaxError, MemoryError, TypeError) as error:
        raise ValueError(str(error)) from None
