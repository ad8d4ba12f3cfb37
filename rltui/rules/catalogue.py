"""The rule catalogue: all pages together, with the user's own thresholds and switches."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path

from msgspec.structs import replace

from rltui.data_files import decode
from rltui.evidence.guard import Guard
from rltui.rules.page import Page, Param, Rule
from rltui.rules.traits import Trait
from rltui.settings import Settings

PAGES = Path(__file__).with_name("pages")


@lru_cache(maxsize=1)
def _read() -> tuple[dict[str, Rule], dict[str, str]]:
    """The rules by id, and the errors of pages that cannot be read."""
    out: dict[str, Rule] = {}
    guard = Guard()
    for path in sorted(PAGES.glob("*.json")):
        out |= {rule.id: rule for rule in guard.ask(f"page {path.name}", (), read_page, path)}
    return out, guard.failed


def read_page(path: Path) -> tuple[Rule, ...]:
    """The rules of a page. Raises DataError, with file and line, if the page is not valid."""
    page = decode(path.read_bytes(), Page, f"pages/{path.name}")
    return tuple(replace(rule, group=page.group) for rule in page.rules)


def rules() -> dict[str, Rule]:
    """Every rule of the catalogue by id, group by group."""
    return _read()[0]


def unread_pages() -> dict[str, str]:
    """Pages that cannot be read, with the reason. None of their rules runs."""
    return _read()[1]


def limit_foretold(catalogue: Mapping[str, Rule], what: str) -> float | None:
    """The threshold that a forecast extends to. None if its page cannot be read."""
    params = (param for rule in catalogue.values() for param in rule.params.values())
    return next((param.value for param in params if param.foretold == what), None)


def caused_by(rule: str) -> tuple[str, ...]:
    """Ids of the rules that lead to a rule."""
    return tuple(one.id for one in rules().values() if rule in one.relations.leads_to)


def suppressed_by(rule: str) -> tuple[str, ...]:
    """Ids of the rules whose finding replaces this rule's."""
    return tuple(one.id for one in rules().values() if rule in one.relations.suppresses)


@cache
def having(trait: Trait) -> frozenset[str]:
    """Ids of the rules that have the trait."""
    return frozenset(rule.id for rule in rules().values() if trait in rule.traits)


def adjusted(settings: Settings) -> dict[str, Rule]:
    """The catalogue with the user's own thresholds and switches. Raises `SettingsError` for an unknown name."""
    out = dict(rules())
    for rule_id, own in settings.rules.items():
        rule = out.get(rule_id)
        if rule is None and unread_pages():
            continue  # the rule may be on one of those pages
        if rule is None:
            near = ", ".join(get_close_matches(rule_id, out, 3, 0.5))
            raise settings.wrong(f"rules.{rule_id}", f"no such rule. Near: {near}" if near else "no such rule")
        params = dict(rule.params)
        for name, value in own.params.items():
            if name not in params:
                known = ", ".join(params) or "none"
                raise settings.wrong(f"rules.{rule_id}.params.{name}", f"no such parameter. This rule has: {known}")
            params[name] = Param(value, f"your setting (default {params[name].value:g}: {params[name].why})")
        out[rule_id] = replace(rule, params=params, enabled=own.enabled)
    return out
