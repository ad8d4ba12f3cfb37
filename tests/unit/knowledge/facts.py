"""The facts of the data files, one a line: numbers, lists, names of other things; no text that people read."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conftest import REPO
from tests.mutants.data import PROSE

HERE = Path(__file__).parent
FACTS = HERE / "facts"
SKIPPED = ("schema.json", "rltui/tui/", "rltui/settings/", "error_rates.json", "reliability.json")
"""Forms, tastes, and what was measured."""
NAMED = ("metrics", "config")
"""Of a framework: `names/` has them, as the report uses them."""
PARTS = {"rules": "rltui/rules/", "frameworks": "rltui/frameworks/", "rest": ""}


def of_file(path: Path) -> Iterator[str]:
    """The facts of one file."""
    text = path.read_text(encoding="utf-8")
    told = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    if path.parent.name == "frameworks":
        told = {key: value for key, value in told.items() if key not in NAMED}
    yield from _facts(told, "")


def _facts(value: Any, where: str) -> Iterator[str]:
    """A list or a value is one line; a thing that has an id or a name is called by it, not by its place."""
    if isinstance(value, dict):
        for key, inside in value.items():
            if key not in PROSE:
                yield from _facts(inside, f"{where}.{key}" if where else key)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for number, item in enumerate(value):
            name = (item.get("id") or item.get("metric") or number) if isinstance(item, dict) else number
            yield from _facts(item, f"{where}[{name}]")
    else:
        yield f"{where} = {json.dumps(value, ensure_ascii=False)}"


def all_facts() -> dict[str, list[str]]:
    """Part -> its lines, a heading for each file."""
    out: dict[str, list[str]] = {part: [] for part in PARTS}
    for path in sorted((REPO / "rltui").rglob("*")):
        name = path.relative_to(REPO).as_posix()
        if path.suffix not in (".json", ".toml") or any(part in name for part in SKIPPED):
            continue
        part = next(part for part, prefix in PARTS.items() if name.startswith(prefix))
        out[part] += [f"# {name}", *of_file(path), ""]
    return out
