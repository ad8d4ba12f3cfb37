"""Settings as scripts print them before they train: a dict or an object in one line, `key: value` in lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rltui.readers.base import ConfigRecord
from rltui.readers.config_file import flatten, scalar
from rltui.readers.json_text import documents
from rltui.readers.literals import NO_VALUE, expression
from rltui.readers.row_kinds import is_config, row_words, words_of

MAX_CHARS = 20_000
MAX_LINES = 300
FEWEST = 3

MARKS = (b'{"', b"onfig(", b"rgs(", b"rguments(", b"arams(", b"ettings(", b"ptions(")
PAIR_MARK = rb"^[ \t*\-\xe2\x80\xa2|>]*(?:--)?[\"']?[A-Za-z_][\w.\-]{0,60}[\"']? *[:=] *\S"
_DICT = re.compile(r"^(.{0,200}?)(\{.*\})\W*$")
_CALL = re.compile(r"\b([A-Z]\w{0,60})\((?=\w+=).*\)")
_PAIR = re.compile(r"^[\s*\-•|>]*(?:--)?[\"']?([A-Za-z_][\w.\-]{0,60})[\"']? *(?:[:=]|\.{3,}:?|\s\|) *(\S.{0,300})$")
_RULE = re.compile(r"^[\s=\-*#_~+|{}\[\],]*$")


def in_one_line(message: str, line: int) -> ConfigRecord | None:
    """A dict or an object with settings in a line, whatever stands before it; None if there is none."""
    if len(message) > MAX_CHARS:
        return None
    found = _DICT.match(message)
    values = _dict(found[2]) if found is not None else None
    if (
        values is not None
        and found is not None
        and (is_config(values) or (_speaks_of_config(found[1]) and len(values) >= FEWEST))
    ):
        return ConfigRecord(flatten(values), f"printed dict at line {line}")
    call = _CALL.search(message)
    values = _call(call[0]) if call is not None else None
    if (
        call is not None
        and values is not None
        and (is_config(values) or (_speaks_of_config(call[1]) and len(values) >= FEWEST))
    ):
        return ConfigRecord(flatten(values), f"printed {call[1]} at line {line}")
    return None


def _speaks_of_config(text: str) -> bool:
    return not set(row_words().words["config"]).isdisjoint(words_of(text))


def _dict(text: str) -> dict[str, Any] | None:
    try:
        found = documents(text.encode())
    except (ValueError, RecursionError):
        return None
    values = found[0] if len(found) == 1 else None
    return {str(key): value for key, value in values.items()} if isinstance(values, dict) else None


def _call(text: str) -> dict[str, Any] | None:
    """The fields of `Config(lr=1e-6, opt=Opt(name='adam'))`."""
    try:
        tree = expression(text)
    except NO_VALUE:
        return None
    return _fields(tree) if isinstance(tree, ast.Call) else None


def _fields(call: ast.Call) -> dict[str, Any]:
    return {word.arg: _value(word.value) for word in call.keywords if word.arg is not None}


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        if node.keywords:
            return _fields(node)
        return _value(node.args[0]) if len(node.args) == 1 else ast.unparse(node)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return ast.unparse(node)


@dataclass(slots=True)
class PrintedPairs:
    """Collects lines of one key and one value each. A blank line or a rule between them does not matter; they are
    settings if most of their keys are."""

    line: int
    _values: dict[str, object] = field(default_factory=dict)
    _lines: int = 0

    @staticmethod
    def pair(message: str) -> tuple[str, object] | None:
        """Key and value of a line."""
        found = _PAIR.match(message.rstrip())
        return None if found is None else (found[1], scalar(found[2].rstrip(" ,|")))

    def add(self, message: str) -> bool:
        """Takes the next line; false if it is none of these."""
        self._lines += 1
        if self._lines > MAX_LINES:
            return False
        found = self.pair(message)
        if found is not None:
            self._values.setdefault(*found)
        return found is not None or _RULE.match(message) is not None

    def config(self) -> ConfigRecord | None:
        """What the lines hold, None if that is no config."""
        plain: Mapping[str, object] = {
            words[-1] if (words := key.split(".")) else key: v for key, v in self._values.items()
        }
        if len(self._values) < FEWEST or not is_config({key.replace("-", "_").lower(): v for key, v in plain.items()}):
            return None
        return ConfigRecord(flatten(self._values), f"settings printed at line {self.line}")
