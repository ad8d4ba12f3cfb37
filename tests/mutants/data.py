"""Mutants of data files. The text around the edit stays as it is: values are found by their place in the JSON."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.mutants.mutant import Mutant, scaled

PROSE = {
    *("title", "text", "why", "notice", "name", "label", "meaning", "note", "reason", "reading", "advice", "enable"),
    *("sources", "formula", "thresholds", "threshold_basis", "false_alarms", "evidence", "confirm", "refute", "causes"),
    *(
        "fixes",
        "applies_if",
        "trap",
        "healthy",
        "would_change",
        "basis_text",
        "how",
        "needs_text",
        "unit_text",
        "heading",
    ),
    *("summary", "support", "where", "range", "code", "description", "traps", "notes", "reasons", "titles", "format"),
}
"""Fields that people read: no rule goes by them."""

KINDS = {
    "params": "threshold",
    "limits": "threshold",
    "hold": "threshold",
    "limit": "threshold",
    "relations": "relation",
    "traits": "trait",
    "stage": "stage",
    "role": "trait",
    "kind": "trait",
    "family": "family",
    "framework": "family",
    "metrics": "alias",
    "config": "alias",
    "keys": "alias",
    "phases": "alias",
    "detect": "family",
}


@dataclass(frozen=True)
class Value:
    """A value of a JSON text: the keys and numbers that lead to it, and where it stands."""

    path: tuple[str | int, ...]
    start: int
    end: int
    value: object

    @property
    def kind(self) -> str:
        found = [KINDS[part] for part in self.path if isinstance(part, str) and part in KINDS]
        return found[-1] if found else "list" if isinstance(self.value, list) else "other"


_SPACE = re.compile(r"[ \t\r\n]*")
_SCAN = json.JSONDecoder()


def values(text: str, at: int = 0, path: tuple[str | int, ...] = ()) -> Iterator[Value]:
    """Every value of a JSON text, the outer ones after what they hold; `at` is where the value begins."""
    at = _skip(text, at)
    _, end = _SCAN.raw_decode(text, at)
    if text[at] in "{[":
        inside, number = _skip(text, at + 1), 0
        while text[inside] not in "}]":
            key: str | int = number
            if text[at] == "{":
                name, inside = _SCAN.raw_decode(text, inside)
                key = str(name)
                inside = _skip(text, _skip(text, inside) + 1)
            for found in values(text, inside, (*path, key)):
                yield found
                inside = found.end  # at last of the whole value
            inside = _skip(text, inside)
            inside = _skip(text, inside + 1) if text[inside] == "," else inside
            number += 1
    yield Value(path, at, end, json.loads(text[at:end]))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def mutants(path: str, text: str) -> Iterator[Mutant]:
    """All mutants of one data file (JSON, or the numbers and lists of a TOML file)."""
    if path.endswith(".toml"):
        yield from _toml(path, text)
        return
    every = [v for v in values(text) if not PROSE & {part for part in v.path if isinstance(part, str)}]
    seen: dict[object, list[str]] = {}
    for v in every:
        if isinstance(v.value, str) and v.path:
            seen.setdefault(v.path[-1], []).append(v.value)

    for v in every:
        where = ".".join(map(str, v.path))
        was = text[v.start : v.end]
        if isinstance(v.value, bool):
            yield Mutant(path, v.kind, "turned", where, v.start, was, "false" if v.value else "true")
        elif isinstance(v.value, int | float):
            for how, new in scaled(was):
                yield Mutant(path, v.kind, how, where, v.start, was, new)
        elif isinstance(v.value, list) and v.value:
            for dropped in range(len(v.value)):
                rest = [item for n, item in enumerate(v.value) if n != dropped]
                new = json.dumps(rest, ensure_ascii=False)
                yield Mutant(path, v.kind, f"without {dropped}", where, v.start, was, new)
        elif isinstance(v.value, str) and isinstance(v.path[-1], str) and v.kind in ("stage", "trait", "family"):
            others = sorted(set(seen[v.path[-1]]) - {v.value})
            if others:
                yield Mutant(path, v.kind, "another", where, v.start, was, json.dumps(others[0]))
    for one, two in _neighbours(every):
        if one.value != two.value:
            both = text[one.start : two.end]
            new = text[two.start : two.end] + text[one.end : two.start] + text[one.start : one.end]
            where = ".".join(map(str, one.path)) + " and " + str(two.path[-1])
            yield Mutant(path, one.kind, "exchanged", where, one.start, both, new)


def _neighbours(every: list[Value]) -> Iterator[tuple[Value, Value]]:
    """Values of two keys of one object that stand beside each other and are alike: what is exchanged still fits the
    schema. Elements of lists are not exchanged: few lists mean their order."""
    by_place: dict[tuple[str | int, ...], list[Value]] = {}
    for v in every:
        if (
            v.path
            and isinstance(v.path[-1], str)
            and not isinstance(v.value, dict)
            and v.kind in ("alias", "threshold")
        ):
            by_place.setdefault(v.path[:-1], []).append(v)
    for beside in by_place.values():
        for one, two in itertools.pairwise(beside):
            if type(one.value) is type(two.value):
                yield one, two


def _toml(path: str, text: str) -> Iterator[Mutant]:
    for found in re.finditer(r"^(\w+) *= *(\d+(?:\.\d+)?)$", text, re.M):
        for how, new in scaled(found[2]):
            yield Mutant(path, "threshold", how, found[1], found.start(2), found[2], new)
    for found in re.finditer(r"^(\w+) *= *(\[[^\[\]]*\])$", text, re.M):
        items = re.findall(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", found[2])
        for dropped in range(len(items)):
            new = f"[{', '.join(item for n, item in enumerate(items) if n != dropped)}]"
            yield Mutant(path, "list", f"without {dropped}", found[1], found.start(2), found[2], new)
