"""One name, one thing: no two classes of the package are called alike."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

import pytest

from tests.conftest import REPO

ALIKE: dict[str, str] = {}
"""Class names that may stand in several modules, and why."""


@pytest.mark.long
def test_no_class_name_occurs_twice() -> None:
    """Private classes are known in their module only."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted((REPO / "rltui").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "class " in source else ():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(REPO)))
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert {name: where for name, where in twice.items() if name not in ALIKE} == {}
    assert set(ALIKE) <= set(twice), "an exception that nothing needs"


def test_a_folder_names_only_files_that_it_holds() -> None:
    gone = [
        f"{page.relative_to(REPO)}: {name}"
        for page in (REPO / "rltui").rglob("__init__.py")
        for name in re.findall(r"[\w/]+\.py\b", ast.get_docstring(ast.parse(page.read_text())) or "")
        if not (page.parent / name).exists()
    ]
    assert gone == []
