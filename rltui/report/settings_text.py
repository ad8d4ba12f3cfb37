"""The user's settings in words, for `rltui config`."""

from __future__ import annotations

from rltui import settings
from rltui.diagnosis.catalogue import adjusted, rules

NOTHING = "nothing is changed: every rule runs with the thresholds of the catalogue"


def shown() -> str:
    """What the settings change, beside the defaults. Raises `SettingsError`."""
    own = settings.load()
    now, default = adjusted(own), rules()
    lines = [f"{own.path}{'' if own.exists else ' (not there)'}"]
    for rule_id, changed in own.rules.items():
        if not changed.enabled:
            lines.append(f"  {rule_id}: switched off")
        lines += [
            f"  {rule_id}: {name} {now[rule_id].params[name].value:g} (default {default[rule_id].params[name].value:g})"
            for name in changed.params
        ]
    return "\n".join(lines if len(lines) > 1 else [*lines, f"  {NOTHING}"])


def checked() -> str:
    """One line that says that the settings are valid. Raises `SettingsError` where they are not."""
    own = settings.load()
    adjusted(own)
    if not own.exists:
        return f"{own.path}: not there; {NOTHING}"
    count = len(own.rules)
    return f"{own.path}: valid, {count} rule{'' if count == 1 else 's'} changed"
