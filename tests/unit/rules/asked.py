"""Engines that ask a few rules only, for tests of these: the others take most of the time and say nothing of it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from unittest.mock import patch

from rltui.diagnosis.engine import Engine
from rltui.rules import registry
from rltui.rules.catalogue import caused_by, rules


def only(asked: Iterable[str]) -> Engine:
    """Asks these rules and no others."""
    return Engine(catalogue={rule: page for rule, page in rules().items() if rule in asked})


def near(*asked: str) -> Engine:
    """Asks these rules, and those that may cause, silence or follow them."""
    return only(_with_relatives(asked))


def asking(*asked: str) -> AbstractContextManager[object]:
    """The same for a report: no other rule is asked meanwhile."""
    wanted = _with_relatives(asked)
    return patch.object(registry, "REGISTERED", [one for one in registry.REGISTERED if one.rule in wanted])


def _with_relatives(asked: Iterable[str]) -> set[str]:
    wanted = set(asked)
    for rule in asked:
        relations = rules()[rule].relations
        wanted |= {*caused_by(rule), *relations.leads_to, *relations.suppresses}
    return wanted
