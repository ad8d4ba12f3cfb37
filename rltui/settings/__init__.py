"""The user's settings: one file, `config.toml` in the user's own config directory. What is absent is the default.

model.py      the settings as typed values, with their defaults
parse.py      the file's text -> settings, or one line that names file, line and key
example.toml  every fixed key with its default, in words
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from rltui.settings.model import Host, RuleSetting, Settings, SettingsError
from rltui.settings.parse import near, parse

__all__ = [
    "Host",
    "RuleSetting",
    "Settings",
    "SettingsError",
    "example",
    "load",
    "near",
    "parse",
    "path",
    "state_dir",
    "theme_texts",
]


def path() -> str:
    """Where the settings are looked for: `$XDG_CONFIG_HOME`, else `~/.config`, then `rltui/config.toml`.

    A relative `$XDG_CONFIG_HOME` is ignored, as the XDG specification requires.
    """
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "rltui", "config.toml")


def state_dir(environ: Mapping[str, str]) -> str:
    """The user's state directory of rltui, by the XDG rules."""
    base = environ.get("XDG_STATE_HOME", "")
    return os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.local/state"), "rltui")


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
            continue  # this theme then cannot be chosen
    return found


def example() -> str:
    """The tables with fixed keys as a commented file: every key with its default."""
    return files("rltui.settings").joinpath("example.toml").read_text(encoding="utf-8")


def load() -> Settings:
    """The settings of this user. Raises `SettingsError`."""
    return _load(path())


@cache
def _load(file: str) -> Settings:
    """Read once per process: a run that is being watched keeps the rules with which it began."""
    try:
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
    except FileNotFoundError:
        return Settings(file)
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not UTF-8 text"
        raise SettingsError(f"{file}: cannot be read ({reason})") from None
    return parse(text, file)
