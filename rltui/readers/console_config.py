"""Config among the lines of a console log: printed dicts and YAML, command lines, lists of arguments."""

from __future__ import annotations

import re

from rltui.readers import arguments
from rltui.readers.base import ConfigRecord
from rltui.readers.config_text import PrintedDict, overrides
from rltui.readers.log_prefix import plain
from rltui.readers.printed_yaml import PrintedYaml

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
)
YAML_LINES = 20_000
"""YAML is looked for in so many lines at most, and before the first step only."""
YAML_MARK = rb"(?:^|[)\-\]|m] )[a-z_][\w.\-]{0,100}:(?: \S|$)"
_ARGUMENTS = re.compile(r"(?:\bpython[\d.]* |\.py |\btorchrun |\bopenrlhf\.cli\.)[^\n]* --|\bNamespace\(")
_MOST_OPEN = 16
_MOST_PAIRS = 8
"""Lines of settings that are taken from one log."""


class ConfigFinder:
    """Takes the lines of a log, each with the prefix of the process that wrote it."""

    def __init__(self) -> None:
        self._dicts: dict[str, PrintedDict] = {}
        self._yaml: dict[str, PrintedYaml] = {}
        self._argument_list: arguments.ArgumentList | None = None
        self._pairs = 0

    @property
    def is_open(self) -> bool:
        """Whether the next lines may belong to what the lines before began."""
        return bool(self._dicts or self._yaml or self._argument_list)

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
        return out if config is None else [*out, config]

    def finish(self) -> list[ConfigRecord]:
        """What stands at the end of the log, as far as it goes."""
        return [config for document in self._yaml.values() if (config := document.config()) is not None]

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
        if self._argument_list is None and arguments.ArgumentList.opens(message):
            self._argument_list = arguments.ArgumentList(line)
        elif self._argument_list is not None:
            config = self._argument_list.add(plain(message))
            if self._argument_list.over:
                self._argument_list = None
            return config
        if "actor_rollout_ref." in message:
            return overrides(message, line)
        if (" --" in message or "Namespace(" in message) and _ARGUMENTS.search(message):
            return arguments.in_line(message, line)
        if not before_steps:
            return None
        if " = " in message and (said := arguments.banner(message, line)) is not None:
            return said
        if ("lr=" in message or "learning_rate=" in message) and self._pairs < _MOST_PAIRS:
            self._pairs += 1
            return arguments.pairs(message, line)
        return None
