"""Config as it is printed in logs: a pretty-printed dict over many lines, or Hydra overrides on a command line."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rltui.patterns import lazy
from rltui.readers.base import ConfigRecord
from rltui.text import clean, redact_value

MAX_LINES = 5000
MAX_CHARS = 1 << 19
"""Bounds of one printed dict; verl 0.9 prints about 700 lines."""
MAX_FOREIGN = 20
"""Other lines within one."""

_OPENS = lazy(r"^\{'[\w.\-/]+': ?\S.*[,{(\[]$")
_OVERRIDE = lazy(r"""(?<![\w./-])\+{0,2}((?:[a-z_]\w*)(?:\.\w+)+)=("[^"\n]*"|'[^'\n]*'|\[[^\]\n]*\]|[^\s"'\\]+)""")
_OVERRIDES = 3
"""Fewer assignments on a line are no command line."""


def flatten(tree: Mapping[Any, object], prefix: str = "", depth: int = 0) -> dict[str, object]:
    """Dotted keys to plain values, cleaned and redacted. Lists stay lists."""
    flat: dict[str, object] = {}
    for name, value in tree.items():
        key = clean(f"{prefix}{name}", 300)
        if isinstance(value, Mapping) and value and depth < 20:
            flat.update(flatten(value, f"{key}.", depth + 1))
        else:
            flat[key] = _safe(redact_value(key, value))
    return flat


def _safe(value: object) -> object:
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, list | tuple):
        return [_safe(inner) for inner in value[:200]]
    return clean(str(value), 1000)


def overrides(text: str, line: int) -> ConfigRecord | None:
    """Hydra overrides (`data.train_batch_size=256`) in a line, None where there are too few."""
    found = {key: scalar(value) for key, value in _OVERRIDE.findall(text)}
    if len(found) < _OVERRIDES:
        return None
    return ConfigRecord(flatten(found), f"command line at line {line}")


def scalar(text: str) -> object:
    """A value as it is written on a command line."""
    if text[:1] in "\"'" and text[-1:] == text[:1]:
        text = text[1:-1]
    words = {"true": True, "false": False, "null": None, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if text[:1] == "[" and text[-1:] == "]":
        return [scalar(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    return text


@dataclass(slots=True)
class PrintedDict:
    """Collects the lines of one `pprint`ed dict."""

    line: int
    failed: bool = False  # the text was no literal
    _lines: list[str] = field(default_factory=list)
    _chars: int = 0
    _foreign: int = 0
    _depth: int = 0

    @staticmethod
    def opens(message: str) -> bool:
        """Whether a message can be the first line of one."""
        return _OPENS.match(message.rstrip()) is not None and message.count("{") > message.count("}")

    def add(self, message: str) -> ConfigRecord | None:
        """The next line. Returns the config when the dict is complete; sets `failed` when it never will be."""
        if self._lines and not message.startswith(" "):  # what else the process prints meanwhile
            self._foreign += 1
            if self._foreign <= MAX_FOREIGN:
                return None
            self.failed = True  # the rest comes too late, or never: what is there of a config counts
            if len(self._lines) <= MAX_FOREIGN:
                return None
            return self._parsed("\n".join(self._lines).rstrip(" ,") + "}" * self._depth, ", cut off")
        self._lines.append(message)
        self._chars += len(message)
        self._depth += message.count("{") - message.count("}")
        if len(self._lines) > MAX_LINES or self._chars > MAX_CHARS:
            self.failed = True
            return None
        return None if self._depth > 0 else self._parsed("\n".join(self._lines), "")

    def _parsed(self, text: str, note: str) -> ConfigRecord | None:
        try:
            tree = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            tree = None
        if not isinstance(tree, dict):
            self.failed = True
            return None
        return ConfigRecord(flatten(tree), f"printed dict at line {self.line}{note}")
