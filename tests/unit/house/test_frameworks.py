"""A framework has one home: its data file. No code decides by the name of one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from rltui.data_files import DataError, decode
from rltui.frameworks.load import dialect, dialect_names, levers, settings_by_framework
from rltui.frameworks.schema import GENERIC, Conventions
from rltui.rules.catalogue import PAGES, rules
from rltui.rules.page import Page
from rltui.run.attempts import _crashes
from tests.conftest import REPO

SPEAKS_OF_TEXT = ("readers", "rollouts/formats")
"""Here a framework's name stands for how text looks: formats and printed samples are called by who prints them."""


def literals(source: str) -> Iterator[tuple[int, str]]:
    """Texts in a module that are no docstrings."""
    tree = ast.parse(source)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value


@pytest.mark.long
def test_no_code_names_a_framework() -> None:
    names = {*dialect_names(), *(dialect(name).title for name in dialect_names())} - {GENERIC, dialect(GENERIC).title}
    package = REPO / "rltui"
    found = []
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package).as_posix()
        source = path.read_text(encoding="utf-8")
        if not inside.startswith(SPEAKS_OF_TEXT) and any(name in source for name in names):
            found += [f"{inside}:{line} {text!r}" for line, text in literals(source) if text in names]
    assert found == []


def test_each_lever_is_turned_by_a_remedy_and_known_to_a_framework() -> None:
    fixes = [fix.lever for rule in rules().values() for fix in rule.fixes]
    ends = [remedy.lever for kind in _crashes().crash for remedy in kind.to_do]
    assert {*fixes, *ends} - {""} == set(levers())
    assert [name for name in levers() if not settings_by_framework(name)] == []


def test_a_remedy_of_an_unknown_lever_is_an_error_with_its_line() -> None:
    page = (PAGES / "val.json").read_text(encoding="utf-8")
    name = re.search(r'"lever": "(\w+)"', page)
    assert name is not None
    with pytest.raises(DataError, match=r"invented.json:\d+: .*no lever is called 'no_such'"):
        decode(page.replace(name[0], '"lever": "no_such"', 1).encode(), Page, "invented.json")


def test_an_estimator_of_the_kl_names_the_code_that_says_so() -> None:
    with pytest.raises(DataError, match="go together"):
        decode(b'{\n"kl_estimator": "k1"\n}', Conventions, "invented.json")
    assert decode(b'{"kl_estimator": "k1", "kl_estimator_source": "x.py"}', Conventions, "invented.json")
