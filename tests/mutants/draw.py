"""Which mutants there are, which are drawn, and which tests are asked about each."""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.mutants import code, data
from tests.mutants.mutant import Mutant

CODE = ("rltui/evidence", "rltui/rules", "rltui/diagnosis")
NO_KNOWLEDGE = ("schema.json", "rltui/tui/", "rltui/settings/", "rltui/verify/", "error_rates.json")
"""Data that is a form, a taste, or was measured."""
TESTS_OF = tomllib.loads(Path(__file__).with_name("tests_of.toml").read_text(encoding="utf-8"))
EQUAL: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("equal.toml").read_text(encoding="utf-8"))["equal"]
LOCKED: list[str] = TESTS_OF["locked"]


def excluded(one: Mutant) -> bool:
    """Whether it changes nothing that anybody could see (`equal.toml` says why)."""
    return any(
        one.path == of["path"] and one.where.split(":")[0] in of["where"] and one.how in of.get("how", [one.how])
        for of in EQUAL
    )


def population(root: Path) -> Iterator[Mutant]:
    """Every mutant there is, without those that are excluded."""
    return (one for one in _all(root) if not excluded(one))


def code_files(root: Path) -> list[str]:
    """The modules that judge."""
    return sorted(path.relative_to(root).as_posix() for folder in CODE for path in (root / folder).rglob("*.py"))


def _all(root: Path) -> Iterator[Mutant]:
    judges = set(code_files(root))
    for path in sorted((root / "rltui").rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix in (".json", ".toml") and not any(part in name for part in NO_KNOWLEDGE):
            yield from data.mutants(name, path.read_text(encoding="utf-8"))
        elif name in judges:
            yield from code.mutants(name, path.read_text(encoding="utf-8"))


def drawn(every: list[Mutant], n: int, seed: int) -> list[Mutant]:
    """`n` of them: each kind comes round, and within it each file, so that the many aliases do not crowd out the few
    stages."""
    chance = random.Random(seed)
    kinds: dict[str, list[Mutant]] = {}
    for one in every:
        kinds.setdefault(one.kind, []).append(one)
    out: list[Mutant] = []
    while len(out) < min(n, len(every)):
        for kind in sorted(kinds):
            files = sorted({one.path for one in kinds[kind]})
            if files and len(out) < n:
                path = chance.choice(files)
                one = chance.choice([m for m in kinds[kind] if m.path == path])
                kinds[kind].remove(one)
                out.append(one)
    return out


def tests_of(path: str) -> list[str]:
    """The files and folders of tests that are asked about a file."""
    known: dict[str, list[str]] = TESTS_OF["of"]
    fits = [prefix for prefix in known if path.startswith(prefix)]
    return known[max(fits, key=len)] if fits else ["tests/unit/knowledge", "tests/unit/report", "tests/unit/diagnosis"]


def plain(name: str) -> str:
    return name.lower().replace("-", "_")


def words_of(one: Mutant, root: Path) -> list[str]:
    """Words by which a test may name what the mutant changes: the rule of a page, the framework of a file, the
    function, the fields on the way. The tests that have them in their names are asked first."""
    words = [part for part in re.split(r"[^\w-]+", one.where) if part and not part.isdigit()]
    if one.path.startswith("rltui/rules/pages/") and (found := re.match(r"rules\.(\d+)\.", one.where)):
        page = json.loads((root / one.path).read_text(encoding="utf-8"))
        words.append(page["rules"][int(found[1])]["id"])
    words.append(Path(one.path).stem)
    return sorted({plain(word).strip("_") for word in words if len(word) > 3})
