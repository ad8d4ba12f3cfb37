"""Textual's inner parts are as they were when they were relied on: else the pin in pyproject.toml may not move."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import textwrap
import tomllib
from functools import reduce
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

from rltui.tui import compat
from rltui.tui.compat import INNER, TESTED, Inner
from tests.conftest import REPO

TUI = REPO / "rltui" / "tui"


def found(where: str) -> object:
    module, _, path = where.partition(":")
    return reduce(getattr, path.split("."), import_module(module))


def source_of(where: str) -> str:
    """The source of a member, also where a patch stands in its place by now."""
    module, _, path = where.partition(":")
    owner, _, member = path.rpartition(".")
    code = inspect.getsource(found(f"{module}:{owner}") if owner else import_module(module))
    tree = ast.parse(textwrap.dedent(code))
    name = member or path
    node = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name)
    return ast.unparse(node)


def digest(one: Inner) -> str:
    return hashlib.sha256(source_of(one.seen_in or one.where).encode()).hexdigest()[:12]


@pytest.mark.parametrize("one", INNER, ids=lambda one: one.where)
def test_what_is_relied_on_is_as_it_was(one: Inner) -> None:
    assert digest(one) == one.source, (
        f"Textual {version('textual')} changed {one.seen_in or one.where}, on which {one.why} stands. Look whether it "
        "still holds, then write the new digest into compat.INNER, or lower the bound in compat.TESTED."
    )


def test_the_bound_is_the_tested_one_and_what_is_installed_lies_within() -> None:
    dependencies = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["dependencies"]
    (wanted,) = [d for d in dependencies if re.match(r"textual\b", d)]
    assert wanted == f"textual>={TESTED[0]},<{TESTED[1]}"
    installed = tuple(int(part) for part in version("textual").split(".")[:2])
    low, high = (tuple(int(part) for part in bound.split(".")) for bound in TESTED)
    assert low <= installed < high


def test_every_patch_stands_in_the_table() -> None:
    """What compat.py puts in the place of a member of Textual's, of a class or of the one app and driver that run."""
    assigned = {
        target.attr
        for node in ast.walk(ast.parse(Path(compat.__file__).read_text()))
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
        if target.value.id[0].isupper() or target.value.id in ("app", "driver")
    }
    assert assigned == {one.where.rpartition(".")[2] for one in INNER if one.patched}


def test_every_inner_name_that_compat_uses_stands_in_the_table() -> None:
    used = {
        node.attr
        for node in ast.walk(ast.parse(Path(compat.__file__).read_text()))
        if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr)
        if not (isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr == "_marks")
    }
    rich = {"_color_system"}
    own = {"_index_to_line"}  # of the page that is patched: its source is what is checked
    assert used - rich - own <= {one.where.rpartition(".")[2] for one in INNER}


def inner_names() -> set[str]:
    """Names that Textual's classes give to attributes of their own: a subclass must not use them for something else."""
    from textual.app import App
    from textual.screen import Screen
    from textual.widget import Widget

    classes = {cls for base in (App, Screen, Widget) for cls in base.__mro__ if cls.__module__.startswith("textual")}
    return {name for cls in classes for name in re.findall(r"self\.(_[a-z]\w*)", inspect.getsource(cls))}


def test_nobody_but_compat_touches_what_textual_keeps_to_itself() -> None:
    theirs, wrong = inner_names() | {n for one in INNER if (n := one.where.rpartition(".")[2])[0] == "_"}, []
    for path in TUI.rglob("*.py"):
        if path.name == "compat.py":
            continue
        tree = ast.parse(path.read_text())
        for cls in ast.walk(tree):
            if not isinstance(cls, ast.ClassDef):
                continue
            textual = any(re.search(r"App|Screen|Pane|Widget|Places", ast.unparse(base)) for base in cls.bases)
            own = {n.name for n in cls.body if isinstance(n, ast.FunctionDef)}
            for node in ast.walk(cls):
                if isinstance(node, ast.Attribute) and node.attr in theirs:
                    by_self = isinstance(node.value, ast.Name) and node.value.id == "self"
                    if (textual and by_self) or not (by_self or node.attr in own):
                        wrong.append(f"{path.name}:{node.lineno} {ast.unparse(node)}")
    assert wrong == []
