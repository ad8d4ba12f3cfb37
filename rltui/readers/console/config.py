"""Config among the lines of a console log: printed dicts and YAML, command lines, lists of arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rltui.readers import config_file, printed_settings
from rltui.readers.base import ConfigRecord
from rltui.readers.config_file import PrintedDict, overrides, yaml_values
from rltui.readers.console.lead import bare, plain
from rltui.readers.printed_settings import PrintedPairs

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


MARKS = (
    b"{'",
    b"actor_rollout_ref.",
    b"openrlhf.cli.",
    b"thon ",
    b"thon3 ",
    b"torchrun ",
    b"py --",
    b"Namespace(",
    b"arguments --",
    b"steps = ",
    b"per device = ",
    b"Num Epochs = ",
    b"lr=",
    b"learning_rate=",
    *printed_settings.MARKS,
)
YAML_LINES = 20_000
"""YAML is looked for in so many lines at most, and before the first step only."""
YAML_MARK = printed_settings.PAIR_MARK + rb"|(?:^|[)\-\]|m] )[a-z_][\w.\-]{0,100}:(?: \S|$)"
_ARGUMENTS = re.compile(r"(?:\bpython[\d.]* |\.py |\btorchrun |\bopenrlhf\.cli\.)[^\n]* --|\bNamespace\(")
_MOST_OPEN = 16
_MOST_PAIRS = 8
"""Lines of settings that are taken from one log."""


class ConfigFinder:
    """Takes the lines of a log, each with the prefix of the process that wrote it."""

    def __init__(self) -> None:
        self._dicts: dict[str, PrintedDict] = {}
        self._yaml: dict[str, PrintedYaml] = {}
        self._argument_list: config_file.ArgumentList | None = None
        self._pairs = 0
        self._printed: dict[str, PrintedPairs] = {}

    @property
    def is_open(self) -> bool:
        """Whether the next lines may belong to what the lines before began."""
        return bool(self._dicts or self._yaml or self._argument_list or self._printed)

    def line(self, prefix: str, message: str, line: int, before_steps: bool, yaml: bool) -> list[ConfigRecord]:
        """The config that is complete with this line; `yaml`: a document may begin here."""
        out = self._yaml_line(prefix, message, line, yaml)
        printed = self._dicts.get(prefix)
        if printed is None and PrintedDict.opens(message) and len(self._dicts) < _MOST_OPEN:
            printed = self._dicts[prefix] = PrintedDict(line)
        if printed is not None:
            config = printed.add(message)
            if config is not None or printed.failed:
                del self._dicts[prefix]
        else:
            config = self._arguments(message, line, before_steps)
        out += self._pair_line(prefix, message, line, before_steps)
        return out if config is None else [*out, config]

    def _pair_line(self, prefix: str, message: str, line: int, before_steps: bool) -> list[ConfigRecord]:
        """Settings one below the other that end with this line; new ones may begin."""
        own = self._printed.get(prefix)
        if own is not None and before_steps and own.add(plain(message)):
            return []
        ended = list(self._printed) if not before_steps else [prefix] if own is not None else []
        out = [config for name in ended if (config := self._printed.pop(name).config()) is not None]
        text = plain(message)
        if before_steps and len(self._printed) < _MOST_OPEN and PrintedPairs.pair(text) is not None:
            self._printed[prefix] = PrintedPairs(line)
            self._printed[prefix].add(text)
        return out

    def finish(self) -> list[ConfigRecord]:
        """What stands at the end of the log, as far as it goes."""
        found = [document.config() for document in self._yaml.values()]
        found += [pairs.config() for pairs in self._printed.values()]
        return [config for config in found if config is not None]

    def _yaml_line(self, prefix: str, message: str, line: int, wanted: bool) -> list[ConfigRecord]:
        """Documents that end with this line, or with the first step; a new one may begin."""
        if not wanted and not self._yaml:
            return []
        own = self._yaml.get(prefix)
        ended = list(self._yaml) if not wanted else [prefix] if own is not None and not own.add(message) else []
        out = [config for name in ended if (config := self._yaml.pop(name).config()) is not None]
        if wanted and prefix not in self._yaml and len(self._yaml) < _MOST_OPEN:
            first = PrintedYaml.opening(message)
            if first is not None:
                self._yaml[prefix] = PrintedYaml(line)
                self._yaml[prefix].add(first)
        return out

    def _arguments(self, message: str, line: int, before_steps: bool) -> ConfigRecord | None:
        """Config that stands in one line, or in Megatron's list of arguments."""
        if self._argument_list is None and config_file.ArgumentList.opens(message):
            self._argument_list = config_file.ArgumentList(line)
        elif self._argument_list is not None:
            config = self._argument_list.add(plain(message))
            if self._argument_list.over:
                self._argument_list = None
            return config
        if "actor_rollout_ref." in message:
            return overrides(message, line)
        if (" --" in message or "Namespace(" in message) and _ARGUMENTS.search(message):
            return config_file.in_line(message, line)
        if not before_steps:
            return None
        if " = " in message and (said := config_file.banner(message, line)) is not None:
            return said
        if ("{" in message or "(" in message) and (said := printed_settings.in_one_line(message, line)) is not None:
            return said
        if ("lr=" in message or "learning_rate=" in message) and self._pairs < _MOST_PAIRS:
            self._pairs += 1
            return config_file.pairs(message, line)
        return None
