"""The user's settings in words, for `rltui config`."""

from __future__ import annotations

from collections.abc import Mapping

from rltui import settings
from rltui.frameworks.load import metrics
from rltui.rules.catalogue import adjusted, rules
from rltui.run.names import own_aliases
from rltui.settings import Settings
from rltui.settings.model import TABLES

NOTHING = "nothing is changed: every default holds"


def shown() -> str:
    """What the user's settings change, with the defaults. Raises `SettingsError`."""
    own = settings.load()
    lines = [f"{own.path}{'' if own.exists else ' (not there)'}", *(f"  {line}" for line in _changes(own))]
    return "\n".join(lines if len(lines) > 1 else [*lines, f"  {NOTHING}"])


def checked() -> str:
    """One line that says that the settings are valid, as far as this floor knows the names. Raises `SettingsError`."""
    own = settings.load()
    adjusted(own)
    own_aliases(own)
    if not own.exists:
        return f"{own.path}: not there, {NOTHING}"
    count = len(_changes(own))
    return f"{own.path}: valid, {count} setting{'' if count == 1 else 's'} changed"


def example(keys: Mapping[str, tuple[str, str]]) -> str:
    """A settings file that changes nothing: every key with its default, commented out. `keys`: those of the screen, by
    id, and what they do."""
    parts = [settings.example().rstrip(), "", "[keys]                   # in Textual's names, several by commas"]
    parts += [f"# {f'{_quoted(id)} = {_quoted(name)}':<44} # {what}" for id, (name, what) in keys.items()]
    parts += ["", "# Thresholds of the rules: rltui explain ID tells why each is as it is."]
    for rule in rules().values():
        parts += ["", f"# [rules.{rule.id}]          # {rule.title}", "# enabled = true"]
        parts += [f"# params.{name} = {param.value:g}" for name, param in rule.params.items()]
    parts += ["", "# Metrics that [aliases] may name:"]
    names = sorted(metrics())
    parts += [f"#   {', '.join(names[i : i + 5])}" for i in range(0, len(names), 5)]
    return "\n".join(parts) + "\n"


def _changes(own: Settings) -> list[str]:
    """A line for each setting that differs from the default."""
    out = []
    for table, kind in TABLES.items():
        mine, usual = getattr(own, table), kind()
        for name in kind._fields:
            value, default = getattr(mine, name), getattr(usual, name)
            if value != default:
                said = "(set)" if name == "webhook" else _plain(value)
                out.append(f"{table}.{name}: {said} (default {_plain(default)})")
    out += [f"keys.{id}: {name}" for id, name in own.keys.items()]
    out += [f"aliases.{name}: {', '.join(raw)}" for name, raw in own.aliases.items()]
    out += [f"hosts.{name}: {host.ssh} {' '.join(host.paths)}".rstrip() for name, host in own.hosts.items()]
    now, default_rules = adjusted(own), rules()
    for rule_id, changed in own.rules.items():
        if not changed.enabled:
            out.append(f"{rule_id}: switched off")
        for name in changed.params:
            value, default = now[rule_id].params[name].value, default_rules[rule_id].params[name].value
            out.append(f"{rule_id}: {name} {value:g} (default {default:g})")
    return out


def _plain(value: object) -> str:
    if value is None:
        return "by the terminal"
    return str(value).lower() if isinstance(value, bool) else str(value) if value != "" else '""'


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
