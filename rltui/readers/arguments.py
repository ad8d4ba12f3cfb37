"""Config as arguments: a command line with `--key value`, `Namespace(key=value)`, and Megatron's list of arguments
(`  lr ........ 1e-06`), which slime prints."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from rltui.patterns import lazy
from rltui.readers.base import ConfigRecord
from rltui.readers.config_text import flatten, scalar

FEWEST = 3
"""Fewer arguments are somebody's example, no command line of a training."""
MAX_LINES = 2000

_FLAG = lazy(r"--?([A-Za-z][\w.\-]*)(?:=(.*))?", re.DOTALL)
_ASSIGNED = lazy(r"\+{0,2}([A-Za-z_]\w*(?:\.\w+)+)=(.*)", re.DOTALL)
_HEAD = lazy(r"-{8,} arguments -{8,}")
_END = lazy(r"-{8,} end of arguments -{8,}")
_ENTRY = lazy(r"^ {0,4}(\w[\w.\-]*) \.{3,} ?(.*)$")
_NAMESPACE = lazy(r"\bNamespace\((.*)\)\s*$")
_BANNER = {
    "instantaneous batch size per device": "per_device_train_batch_size",
    "batch size per device": "per_device_train_batch_size",
    "gradient accumulation steps": "gradient_accumulation_steps",
    "num epochs": "num_train_epochs",
    "total optimization steps": "max_steps",
    "total steps": "max_steps",
}
"""What the HF Trainer, and Unsloth in its place, say as training begins -> the argument that it was."""
_SAID = lazy(r"(?:^|[|/\\] +)([A-Z][a-z]+(?: [A-Za-z]+){1,4}) = ([\d,]{1,15})(?= *(?:\||$))")
_PAIR = lazy(r"(?:^|[\s,(])([a-z_]\w{0,60})\s?=\s?([-+]?[\d.]+(?:[eE][-+]?\d+)?|True|False)(?=[\s,);]|$)")
_FIELD = lazy(r"(?:^|, )(\w+)=('[^']*'|\"[^\"]*\"|\[[^\]]*\]|[^,]*)")


def command_line(words: Sequence[str]) -> dict[str, object]:
    """The arguments among the words of a command line. A flag without a value is true; of several words behind a flag
    all are taken."""
    out: dict[str, object] = {}
    flag = None
    for word in words:
        found, assigned = _FLAG.fullmatch(word), _ASSIGNED.fullmatch(word)
        if found is not None and len(word) > 2:
            flag = found[1] if found[2] is None else None
            out[found[1]] = True if found[2] is None else scalar(found[2])
        elif assigned is not None:
            out[assigned[1]] = scalar(assigned[2])
            flag = None
        elif flag is not None:
            held = out[flag]
            out[flag] = scalar(word) if held is True else [*(held if isinstance(held, list) else [held]), scalar(word)]
    return out


def in_line(message: str, line: int) -> ConfigRecord | None:
    """A command line or a Namespace in a line of a log; None where there is none, or too little."""
    named = _NAMESPACE.search(message)
    if named is not None:
        found = {key: scalar(value.strip()) for key, value in _FIELD.findall(named[1])}
        origin = "printed Namespace"
    else:
        start = message.find(" --")
        try:
            words = shlex.split(message[start:]) if start >= 0 else []
        except ValueError:
            return None  # quotes that do not close
        found, origin = command_line(words), "command line"
    return ConfigRecord(flatten(found), f"{origin} at line {line}") if len(found) >= FEWEST else None


def banner(message: str, line: int) -> ConfigRecord | None:
    """What a trainer says as training begins: `  Gradient Accumulation steps = 2`."""
    said = {
        _BANNER[name.lower()]: int(number.replace(",", ""))
        for name, number in _SAID.findall(message.strip())
        if name.lower() in _BANNER and number.strip(",")
    }
    return ConfigRecord(flatten(said), f"start of training at line {line}") if said else None


def pairs(message: str, line: int) -> ConfigRecord | None:
    """A script's own line of settings: `GRPO: num_generations=4, lr=3e-06, beta=0.04`."""
    found = {key: scalar(value) for key, value in _PAIR.findall(message)}
    return ConfigRecord(flatten(found), f"settings printed at line {line}") if len(found) >= FEWEST else None


class ArgumentList:
    """Megatron's list, line by line."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.over = False
        self._values: dict[str, object] = {}
        self._lines = 0

    @staticmethod
    def opens(message: str) -> bool:
        return _HEAD.search(message) is not None

    def add(self, message: str) -> ConfigRecord | None:
        """The next line; the config once the list ends."""
        self._lines += 1
        found = _ENTRY.match(message)
        if found is not None:
            self._values[found[1]] = scalar(found[2].strip())
        self.over = _END.search(message) is not None or self._lines > MAX_LINES
        if not self.over or not self._values:
            return None
        return ConfigRecord(flatten(self._values), f"argument list at line {self.line}")
