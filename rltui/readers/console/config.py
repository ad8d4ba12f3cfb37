"""Config in the lines of a console log: printed dicts, objects and YAML, lines of `key: value`, command lines, argument
lists.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from rltui.lazy_regex import lazy
from rltui.readers import config_file
from rltui.readers.base import ConfigRecord
from rltui.readers.config_file import PrintedDict, flatten, overrides, scalar, yaml_values
from rltui.readers.console.lead import bare, plain
from rltui.readers.json_text import documents
from rltui.readers.keys import first_of
from rltui.readers.literals import NO_VALUE, expression
from rltui.readers.row_kinds import is_config, row_words, words_of

MAX_CHARS = 20_000
MAX_PAIRS = 300
FEWEST_SETTINGS = 3

PAIR_MARK = rb"^[ \t*\-\xe2\x80\xa2|>]*(?:--)?[\"']?[A-Za-z_][\w.\-]{0,60}[\"']? *[:=] *\S"
_DICT = lazy(r"^(.{0,200}?)(\{.*\})\W*$")
_CALL = lazy(r"\b([A-Z]\w{0,60})\((?=\w+=).*\)")
_PAIR = lazy(r"^[\s*\-•|>]*(?:--)?[\"']?([A-Za-z_][\w.\-]{0,60})[\"']? *(?:[:=]|\.{3,}:?|\s\|) *(\S.{0,300})$")
_RULE = lazy(r"^[\s=\-*#_~+|{}\[\],]*$")
FEWEST_KEYS = 3
MAX_LINES = 5000
_TOP = lazy(r"([a-z_][\w.\-]{0,100}):(?: \S.*)?$")
_INNER = lazy(r" +\S|- ")


def in_one_line(message: str, line: int) -> ConfigRecord | None:
    """A dict or an object with settings in a line, after any other text; None if there is none."""
    if len(message) > MAX_CHARS:
        return None
    found = _DICT.match(message)
    settings = None if found is None else _settings(found[1], _dict(found[2]))
    if settings is not None:
        return ConfigRecord(settings, f"printed dict at line {line}")
    call = _CALL.search(message)
    settings = None if call is None else _settings(call[1], _call(call[0]))
    if call is not None and settings is not None:
        return ConfigRecord(settings, f"printed {call[1]} at line {line}")
    return None


def _settings(called: str, values: dict[str, Any] | None) -> dict[str, Any] | None:
    """The dotted settings of a dict, if it is a config: by its own keys, by those of its sections (as Hydra and
    OmegaConf print it), or by the text before it (`called`). None for any other dict."""
    if values is None:
        return None
    flat = flatten(values)
    if is_config(values) or (len(values) >= FEWEST_SETTINGS and _speaks_of_config(called)):
        return flat
    inner = {key.rpartition(".")[2]: value for key, value in flat.items()}
    return flat if first_of("step", inner) is None and is_config(inner) else None


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


OPENING = ("{", "[", "(")


class PrintedPairs(Struct):
    """Collects lines of one key and one value each. Blank lines and ruled lines between them do not matter. The lines
    are a config if their keys are those of settings."""

    line: int
    _values: dict[str, object] = field(default_factory=dict)
    _lines: int = 0

    @staticmethod
    def is_pair(message: str) -> bool:
        """Whether a line holds a key and a value."""
        return _PAIR.match(message.rstrip()) is not None

    @staticmethod
    def pair(message: str) -> tuple[str, object] | None:
        """Key and value of a line; None for another line."""
        found = _PAIR.match(message.rstrip())
        return None if found is None else (found[1], scalar(found[2].rstrip(" ,|")))

    def add(self, message: str) -> bool:
        """Takes the next line. False if it is not such a line."""
        self._lines += 1
        if self._lines > MAX_PAIRS:
            return False
        found = self.pair(message)
        if found is not None and found[1] not in OPENING:  # the name of a part, `"model": {`
            self._values.setdefault(*found)
        return found is not None or _RULE.match(message) is not None

    def config(self) -> ConfigRecord | None:
        """The config that the lines hold; None if it is not one."""
        plain: Mapping[str, object] = {
            words[-1] if (words := key.split(".")) else key: v for key, v in self._values.items()
        }
        if len(self._values) < FEWEST_SETTINGS or not is_config(
            {key.replace("-", "_").lower(): v for key, v in plain.items()}
        ):
            return None
        return ConfigRecord(flatten(self._values), f"settings printed at line {self.line}")


class PrintedYaml(Struct):
    """Collects the lines of one YAML document. The first line may come after the time and place that a logger prints.
    Only lists and nested mappings distinguish it from a page of `key: value` lines."""

    line: int
    _lines: list[str] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)
    _nested: bool = False

    @staticmethod
    def opening(message: str) -> str | None:
        """The first line of a document, without what a logger puts before it; None if the message cannot be one."""
        text = message.rstrip()
        text = text if _TOP.match(text) else bare(text)
        return text if _TOP.match(text) else None

    def add(self, message: str) -> bool:
        """Takes the next line. False if it does not belong to the document any more."""
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
        """The config that the lines so far hold; None if it is not one."""
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
    b": --",
    b"= --",
    b"Namespace(",
    b"arguments --",
    b"steps = ",
    b"per device = ",
    b"Num Epochs = ",
    b"rainable param",
    b"lr=",
    b"learning_rate=",
    b'{"',
    b"onfig(",
    b"rgs(",
    b"rguments(",
    b"arams(",
    b"ettings(",
    b"ptions(",
)
YAML_LINES = 20_000
"""YAML is searched for only in this many lines, and only before the first step."""
YAML_MARK = PAIR_MARK + rb"|(?:^|[)\-\]|m] )[a-z_][\w.\-]{0,100}:(?: \S|$)"
_ARGUMENTS = lazy(
    r"(?:\bpython[\d.]* |\.py |\btorchrun |\bopenrlhf\.cli\.)[^\n]* --|\bNamespace\("
    r"|(?i:\b(?:arg(?:ument)?s|argv|flags|options|command(?: line)?|cmd)\b[\"']?) ?[:=] --"
)
_MOST_OPEN = 16
_MOST_PAIRS = 8
"""Most lines of settings that are taken from one log."""


class ConfigFinder:
    """Finds config in the lines of a log, each with the prefix of the process that wrote it."""

    def __init__(self) -> None:
        self._dicts: dict[str, PrintedDict] = {}
        self._yaml: dict[str, PrintedYaml] = {}
        self._argument_list: config_file.ArgumentList | None = None
        self._pairs = 0
        self._printed: dict[str, PrintedPairs] = {}

    @property
    def is_open(self) -> bool:
        """Whether the next lines may belong to a config that earlier lines began."""
        return bool(self._dicts or self._yaml or self._argument_list or self._printed)

    def line(self, prefix: str, message: str, line: int, before_steps: bool, yaml: bool) -> list[ConfigRecord]:
        """The configs that are complete with this line. `yaml`: a document may begin here."""
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
        if printed is None or not message.lstrip().startswith(("'", '"', "{")):  # such a line belongs to that dict
            out += self._pair_line(prefix, message, line, before_steps)
        return out if config is None else [*out, config]

    def in_a_line(self, message: str, line: int) -> ConfigRecord | None:
        """Config in one line after the first steps: another launch may begin with it."""
        dict_is_open = bool(self._dicts or self._argument_list)
        return None if dict_is_open else self._arguments(message, line, before_steps=True)

    def _pair_line(self, prefix: str, message: str, line: int, before_steps: bool) -> list[ConfigRecord]:
        """Config of `key: value` lines that ends with this line; a new one may begin."""
        own = self._printed.get(prefix)
        if own is not None and before_steps and own.add(plain(message)):
            return []
        ended = list(self._printed) if not before_steps else [prefix] if own is not None else []
        out = [config for name in ended if (config := self._printed.pop(name).config()) is not None]
        text = plain(message)
        if before_steps and len(self._printed) < _MOST_OPEN and PrintedPairs.is_pair(text):
            self._printed[prefix] = PrintedPairs(line)
            self._printed[prefix].add(text)
        return out

    def finish(self) -> list[ConfigRecord]:
        """The unfinished configs at the end of the log."""
        found = [document.config() for document in self._yaml.values()]
        found += [pairs.config() for pairs in self._printed.values()]
        return [config for config in found if config is not None]

    def _yaml_line(self, prefix: str, message: str, line: int, wanted: bool) -> list[ConfigRecord]:
        """YAML documents that end with this line or with the first step; a new one may begin."""
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
        """Config in one line, or in Megatron's list of arguments."""
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
        if "rainable param" in message and (said := config_file.trainable(message, line)) is not None:
            return said
        if " = " in message and (said := config_file.banner(message, line)) is not None:
            return said
        if ("{" in message or "(" in message) and (said := in_one_line(message, line)) is not None:
            return said
        if ("lr=" in message or "learning_rate=" in message) and self._pairs < _MOST_PAIRS:
            self._pairs += 1
            return config_file.pairs(message, line)
        return None
