"""A framework has one home: its data file. No code decides by the name of one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from rltui.data_files import DataError, decode
from rltui.frameworks.load import GENERIC, dialect, dialect_names
from rltui.frameworks.schema import Conventions
from rltui.rules.catalogue import rules
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


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.id)
def test_fixes_are_for_families_that_there_are(rule: object) -> None:
    for fix in rules()[rule.id].fixes:  # type: ignore[attr-defined]
        assert set(fix.config) <= {*(dialect(name).family for name in dialect_names()), "other"}


def test_an_estimator_of_the_kl_names_the_code_that_says_so() -> None:
    with pytest.raises(DataError, match="go together"):
        decode(b'{\n"kl_estimator": "k1"\n}', Conventions, "invented.json")
    assert decode(b'{"kl_estimator": "k1", "kl_estimator_source": "x.py"}', Conventions, "invented.json")
