"""Engines that ask a few rules only, for tests of these: the others take most of the time and say nothing of it."""

from __future__ import annotations

from collections.abc import Iterable

from rltui.diagnosis.engine import Engine
from rltui.rules.catalogue import caused_by, rules


def only(asked: Iterable[str]) -> Engine:
    """Asks these rules and no others."""
    return Engine(catalogue={rule: page for rule, page in rules().items() if rule in asked})


def near(*asked: str) -> Engine:
    """Asks these rules, and those that may cause, silence or follow them."""
    wanted = set(asked)
    for rule in asked:
        relations = rules()[rule].relations
        wanted |= {*caused_by(rule), *relations.leads_to, *relations.suppresses}
    return only(wanted)
