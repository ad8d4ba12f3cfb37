"""The user's settings: `config.toml` in the user's own config directory. Absent file, absent key: the default.

    [rules.kl-runaway]
    enabled = false            # the rule neither runs nor counts as a check
    [rules.truncation-high]
    params.warn = 0.4          # a threshold; names and reasons: rltui explain truncation-high

This module knows the shape of the file; whoever owns a section says which names exist in it (`Settings.wrong`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import isfinite

SECTIONS = ("rules",)

_HEADER = re.compile(r"^\s*\[+([^\[\]]+)\]+\s*(#.*)?$")
_KEY = re.compile(r"^\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")


class SettingsError(Exception):
    """The settings cannot be used. The text is the whole message: file, line, key, what is wrong."""


@dataclass(frozen=True, slots=True)
class RuleSetting:
    """What the user changed about one rule; `params` maps a threshold's name to its value in the rule's own unit."""

    enabled: bool = True
    params: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    """`path` is where the file is or would be, `exists` whether it is there; `lines` maps a dotted key to its line."""

    path: str
    exists: bool = False
    rules: Mapping[str, RuleSetting] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    def wrong(self, key: str, why: str) -> SettingsError:
        """The error that names file, line and key."""
        return SettingsError(f"{self.path}{_at(self.lines, key)}: {key}: {why}")


def path() -> str:
    """Where the settings are looked for: `$XDG_CONFIG_HOME`, else `~/.config`, then `rltui/config.toml`.

    A relative `$XDG_CONFIG_HOME` is ignored, as the XDG specification asks.
    """
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "rltui", "config.toml")


def theme_texts() -> dict[str, str]:
    """The user's own themes: name (of the file, without `.toml`) -> its text, from `themes/` beside the settings."""
    folder = os.path.join(os.path.dirname(path()), "themes")
    found = {}
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".toml"))
    except OSError:
        return {}
    for name in names:
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as opened:
                found[name[:-5]] = opened.read()
        except (OSError, UnicodeDecodeError):
            continue  # the theme is then not among those that can be chosen
    return found


def load() -> Settings:
    """The settings of this user. Raises `SettingsError`."""
    return _load(path())


@cache
def _load(file: str) -> Settings:
    """Read once a process: a run that is being watched keeps the rules that it began with."""
    try:
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
    except FileNotFoundError:
        return Settings(file)
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not UTF-8 text"
        raise SettingsError(f"{file}: cannot be read ({reason})") from None
    return parse(text, file)


def parse(text: str, file: str) -> Settings:
    """Settings from the text of a file; `file` is named in errors. Raises `SettingsError`."""
    import tomllib

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(f"{file}: no valid TOML: {problem}") from None
    lines = _lines(text)
    empty = Settings(file, True, lines=lines)
    for name in data:
        if name not in SECTIONS:
            raise empty.wrong(name, f"no such section; there are: {', '.join(SECTIONS)}")
    rules = {}
    for rule_id, entry in _table(data.get("rules", {}), "rules", empty).items():
        rules[rule_id] = _rule(entry, f"rules.{rule_id}", empty)
    return Settings(file, True, rules, lines)


def _rule(entry: object, key: str, at: Settings) -> RuleSetting:
    given = _table(entry, key, at)
    for name in given:
        if name not in ("enabled", "params"):
            raise at.wrong(f"{key}.{name}", "unknown; a rule takes: enabled, params.NAME")
    enabled = given.get("enabled", True)
    if not isinstance(enabled, bool):
        raise at.wrong(f"{key}.enabled", "wants true or false")
    params = {}
    for name, value in _table(given.get("params", {}), f"{key}.params", at).items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
            raise at.wrong(f"{key}.params.{name}", "wants a number")
        params[name] = float(value)
    return RuleSetting(enabled, params)


def _table(value: object, key: str, at: Settings) -> dict[str, object]:
    if not isinstance(value, dict):
        raise at.wrong(key, f"wants a table, as in [{key}]")
    return value


def _lines(text: str) -> dict[str, int]:
    """Dotted key -> line, for headers and keys that stand at the beginning of a line. tomllib keeps no places."""
    out: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _dotted(header[1])
            out.setdefault(table, number)
        elif key := _KEY.match(line):
            out.setdefault(f"{table}.{_dotted(key[1])}" if table else _dotted(key[1]), number)
    return out


def _dotted(written: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in written.split("."))


def _at(lines: Mapping[str, int], key: str) -> str:
    """`, line N` of the key, of the first key inside it, or of the table around it."""
    while key:
        inside = [n for k, n in lines.items() if k == key or k.startswith(f"{key}.")]
        if inside:
            return f", line {min(inside)}"
        key = key.rpartition(".")[0]
    return ""
