"""The settings as typed values, one class per table of the file. The defaults are defined only here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

_NONE: Mapping[str, Any] = MappingProxyType({})


class SettingsError(Exception):
    """The settings cannot be used. The text is the whole message: file, line, key, what is wrong."""


class RuleSetting(NamedTuple):
    """What the user changed about one rule; `params` maps a threshold's name to its value in the rule's own unit."""

    enabled: bool = True
    params: Mapping[str, float] = _NONE


class Screen(NamedTuple):
    """How the screen starts. None: as the terminal suggests. `bandwidth`: in bandwidth mode."""

    theme: str | None = None
    glyphs: Literal["block", "braille", "ascii"] | None = None
    mouse: bool | None = None
    bandwidth: bool = False


class AlertSettings(NamedTuple):
    """What calls the user, from the screen and from `watch --notify`. `level`: the lowest severity of findings that do.
    `quiet`: local hours without calls ("22:00-07:00", "" for none). `cooldown_s`: the least time between calls about
    the same thing."""

    enabled: bool = True
    level: Literal["warning", "critical"] = "critical"
    stall: bool = True
    end: bool = True
    bell: bool = True
    notify: Literal["auto", "osc9", "osc777", "both", "off"] = "auto"
    toast: bool = True
    cooldown_s: int = 300
    quiet: str = ""


class Away(NamedTuple):
    """`enabled` false: nothing is recorded about runs and no digest is made. `minutes` without a key press
    count as away."""

    enabled: bool = True
    minutes: int = 10


class WatchSettings(NamedTuple):
    """`webhook`: the address that `--notify webhook` posts to. It is set here so that it shows in no process list.
    `resume`: a watch that was killed continues where it was."""

    webhook: str = ""
    resume: bool = True


class Compare(NamedTuple):
    """What `compare` ranks by and what it counts as cost, if the command line does not say. "": guessed, and reported
    as such."""

    primary: str = ""
    lower_is_better: bool = False
    cost: Literal["", "tokens", "gpu_hours", "hours", "steps"] = ""


class Host(NamedTuple):
    """A name for runs on another machine. `ssh` is [user@]host[:port]. `paths` are opened if none is named."""

    ssh: str = ""
    paths: tuple[str, ...] = ()


TABLES: Mapping[str, type[Any]] = {
    "screen": Screen,
    "alerts": AlertSettings,
    "away": Away,
    "watch": WatchSettings,
    "compare": Compare,
}
"""Tables with fixed keys. The other tables have names that the user chooses: keys, rules, aliases, hosts."""


class Settings(NamedTuple):
    """`path` is where the file is or would be, `exists` whether it is there. `lines` maps a dotted key to its line.

    `keys`: id of a key of the screen -> keys in Textual's names, comma-separated. `aliases`: canonical metric -> raw
    keys for it, of which the first that a run logs counts.
    """

    path: str
    exists: bool = False
    rules: Mapping[str, RuleSetting] = _NONE
    lines: Mapping[str, int] = _NONE
    screen: Screen = Screen()
    alerts: AlertSettings = AlertSettings()
    away: Away = Away()
    watch: WatchSettings = WatchSettings()
    compare: Compare = Compare()
    keys: Mapping[str, str] = _NONE
    aliases: Mapping[str, tuple[str, ...]] = _NONE
    hosts: Mapping[str, Host] = _NONE

    def wrong(self, key: str, why: str) -> SettingsError:
        """The error, which names file, line and key."""
        return SettingsError(f"{self.path}{_at(self.lines, key)}: {key}: {why}")


def _at(lines: Mapping[str, int], key: str) -> str:
    """`, line N` of the key, of the first key inside it, or of the table around it."""
    while key:
        inside = [n for k, n in lines.items() if k == key or k.startswith(f"{key}.")]
        if inside:
            return f", line {min(inside)}"
        key = key.rpartition(".")[0]
    return ""
