"""The texts of this program that a user can read, each with its place: pages, data files, literals of the code."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import rltui

PACKAGE = Path(rltui.__file__).parent
REPO = PACKAGE.parent
PAGES = ("README.md", "sample_runs/README.md")
QUOTED = re.compile(r"`[^`]*`|“[^”]*”")
WORDS = re.compile(r"[A-Za-z]{2,}[,:]? +[A-Za-z{]|; ")
CODE = re.compile(r"[\\|]\w|\(\?:|\{ |\$[@{(A-Za-z]|\bimport |\bSELECT ")
"""What no sentence holds, and a regular expression, a style sheet, a shell script or a program does."""
OTHERS = ("agent", "secret_names.json", "error_rates.json", "reliability.json")
"""Runs elsewhere, or holds no text."""
FOR_EXPERTS = ("formula", "thresholds", "params", "why", "applies_if", "sources", "range", "kl_estimator_source")
"""Fields that hold formulas and where they come from."""


def texts(value: Any) -> Iterator[str]:
    """Each text in data."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(part)


def kept(value: Any, without: tuple[str, ...]) -> Any:
    """The same without the fields of these names, at any depth."""
    if isinstance(value, dict):
        return {key: kept(part, without) for key, part in value.items() if key not in without}
    return [kept(part, without) for part in value] if isinstance(value, list) else value


def walked(node: ast.AST, bare: bool = False) -> Iterator[ast.AST]:
    """All nodes but the parts of f-strings, and the constants that stand as statements of their own (`bare`), such as
    the text below a `def`: they are shown to nobody unless they are given to a call."""
    if not (bare and isinstance(node, ast.Constant)):
        yield node
    for part in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.JoinedStr) and isinstance(part, ast.Constant)):
            yield from walked(part, (bare or isinstance(node, ast.Expr)) and not isinstance(part, ast.Call))


def literals(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of the literals of a module that read like words; what an f-string fills in is `{}`."""
    for node in walked(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            text = "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if WORDS.search(text) and not CODE.search(text):
            yield node.lineno, text


@cache
def of_code() -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"{file.relative_to(REPO)}:{line}", text)
        for file in sorted(PACKAGE.rglob("*.py"))
        if not set(OTHERS) & set(file.relative_to(PACKAGE).parts)
        for line, text in literals(file.read_text(encoding="utf-8"))
    )


def of_data() -> Iterator[tuple[str, str]]:
    for file in sorted(PACKAGE.rglob("*.json")) + sorted(PACKAGE.rglob("*.toml")):
        if file.name in OTHERS:
            continue
        data = (json.loads if file.suffix == ".json" else tomllib.loads)(file.read_text(encoding="utf-8"))
        for text in texts(kept(data, FOR_EXPERTS)):
            if " " in text and not CODE.search(text):
                yield str(file.relative_to(REPO)), text


def of_pages() -> Iterator[tuple[str, str]]:
    for file in [*sorted(PACKAGE.rglob("*.md")), *(REPO / name for name in PAGES)]:
        fenced = False
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            fenced ^= line.startswith("```")
            if not fenced:
                yield f"{file.relative_to(REPO)}:{number}", line


def everything() -> Iterator[tuple[str, str]]:
    yield from of_code()
    yield from of_data()
    yield from of_pages()
