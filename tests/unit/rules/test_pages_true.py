"""What a page says a rule does is what its code does: the levels that it can speak at, and thresholds that are read."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import pytest

import rltui.rules
from rltui.rules.catalogue import rules

LEVELS = {"NOTICE": "notice", "WARNING": "warning", "CRITICAL": "critical"}
SHARED = ("base", "registry")
"""What these say of levels is about other rules."""


@cache
def modules() -> dict[str, ModuleType]:
    names = [found.name for found in pkgutil.iter_modules(rltui.rules.__path__)]
    return {name: importlib.import_module(f"rltui.rules.{name}") for name in names}


@cache
def parts(module: str) -> dict[str, ast.AST]:
    """Functions, classes and constants of a module by name."""
    out: dict[str, ast.AST] = {}
    for node in ast.parse(inspect.getsource(modules()[module])).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            out[node.name] = node
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        out |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return out


@cache
def detectors() -> dict[str, tuple[tuple[str, str], ...]]:
    """Module and name of the detectors of each rule."""
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for module in modules():
        for name, node in parts(module).items():
            for made in getattr(node, "decorator_list", ()):
                if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id == "rule":
                    of = made.args[0]
                    assert isinstance(of, ast.Constant | ast.Name)
                    value = of.value if isinstance(of, ast.Constant) else getattr(modules()[module], of.id)
                    found[str(value)] = (*found.get(str(value), ()), (module, name))
    return found


def reached(start: tuple[tuple[str, str], ...]) -> set[tuple[str, str]]:
    """What these functions use of the rules' modules, in the end."""
    seen: set[tuple[str, str]] = set()
    ahead = list(start)
    while ahead:
        module, name = ahead.pop()
        if (module, name) in seen or name not in parts(module):
            continue
        seen.add((module, name))
        for used in names_in(module, name):
            home = getattr(getattr(modules()[module], used, None), "__module__", "").rpartition("rltui.rules.")[2]
            ahead.append((home if home in modules() and used not in parts(module) else module, used))
    return seen


def names_in(module: str, name: str) -> Iterator[str]:
    return (node.id for node in ast.walk(parts(module)[name]) if isinstance(node, ast.Name))


@pytest.mark.parametrize("rule", sorted(rules()))
def test_a_page_tells_of_the_levels_that_its_code_speaks_at(rule: str) -> None:
    if rule not in detectors():
        return  # its limits tell
    page = rules()[rule]
    code = reached(detectors()[rule])
    levels = {LEVELS[name] for one in code if one[0] not in SHARED for name in names_in(*one) if name in LEVELS}
    assert set(page.thresholds) <= levels | (set(LEVELS.values()) if page.limits else set()), "never said"
    assert levels <= set(page.thresholds) | (set(LEVELS.values()) if page.limits else set()), "not told"


@pytest.mark.parametrize("rule", sorted(rules()))
def test_each_threshold_of_a_page_is_read(rule: str) -> None:
    code = reached(detectors().get(rule, ()))
    words = {node.value for one in code for node in ast.walk(parts(one[0])[one[1]]) if isinstance(node, ast.Constant)}
    assert set(rules()[rule].params) <= words
