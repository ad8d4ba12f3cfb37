"""A config that a trainer prints as YAML before it starts: ROLL, SkyRL, torchtune."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rltui.readers.base import ConfigRecord
from rltui.readers.config_file import yaml_values
from rltui.readers.log_prefix import bare

FEWEST_KEYS = 3
MAX_LINES = 5000
_TOP = re.compile(r"([a-z_][\w.\-]{0,100}):(?: \S.*)?$")
_INNER = re.compile(r" +\S|- ")


@dataclass(slots=True)
class PrintedYaml:
    """Collects the lines of one document. The first may stand behind the time and place of a logger. Lists and nested
    mappings make the difference to a page of `key: value` lines."""

    line: int
    _lines: list[str] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)
    _nested: bool = False

    @staticmethod
    def opening(message: str) -> str | None:
        """The first line of a document as it stands in it, None where the message can be none."""
        text = message.rstrip()
        text = text if _TOP.match(text) else bare(text)
        return text if _TOP.match(text) else None

    def add(self, message: str) -> bool:
        """Takes the next line; false where it belongs to the document no more."""
        text = message.rstrip()
        top = _TOP.match(text)
        if len(self._lines) >= MAX_LINES or not (top or _INNER.match(text)):
            return False
        if top:
            self._keys.add(top[1])
        else:
            self._nested = True
        self._lines.append(text)
        return True

    def config(self) -> ConfigRecord | None:
        """What the lines so far hold; None where that is no config."""
        if not self._nested or len(self._keys) < FEWEST_KEYS:
            return None
        values = yaml_values("\n".join(self._lines))
        return ConfigRecord(values, f"printed YAML at line {self.line}") if values else None
