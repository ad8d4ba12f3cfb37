"""Who weighs findings asks for traits: no list of rule ids and no reading of sentences outside the rules themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from rltui.rules.catalogue import having, rules
from rltui.rules.traits import Trait

PACKAGE = Path(str(files("rltui")))
JUDGES = ("diagnosis", "report", "tui", "compare", "watch", "events", "session")


@pytest.mark.parametrize("trait", Trait)
def test_every_trait_is_one_of_some_rule(trait: Trait) -> None:
    assert having(trait)


@pytest.mark.parametrize("folder", JUDGES)
def test_no_rule_is_compared_by_its_id(folder: str) -> None:
    found = [place for path in sorted((PACKAGE / folder).rglob("*.py")) for place in _comparisons(path)]
    assert not found


def _comparisons(path: Path) -> Iterator[str]:
    """`== "rule-id"`, `in ("rule-id", ..)`, and lists of two ids or more. A table from id to detector, and a look-up by
    id, are no judgement."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        compared = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        lists = [part for part in (*compared, node) if isinstance(part, ast.Tuple | ast.List | ast.Set)]
        ids = [x for x in compared if _is_id(x)]
        for one in lists:
            named = [x for x in one.elts if _is_id(x)]
            ids += named if len(named) > 1 or one is not node else []
        yield from (f"{path.name}:{x.lineno} {ast.unparse(x)}" for x in ids)


def _is_id(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in rules()
