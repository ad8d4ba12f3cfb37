"""The table of requirements is whole: each number has tests that exist, or a line that says what is missing."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable
from functools import cache

import pytest

from tests.conftest import REPO

TABLE = tomllib.loads((REPO / "tests" / "requirements.toml").read_text(encoding="utf-8"))
TESTS: dict[str, list[str]] = TABLE["tests"]
MISSING: dict[str, str] = TABLE["missing"]


def numbers(ranges: Iterable[str]) -> list[str]:
    """ "S0.7-S0.8" -> S0.7, S0.8."""
    out = []
    for part in ranges:
        first, _, last = part.partition("-")
        group, start = first.split(".")
        end = last.split(".")[1] if last else start
        out += [f"{group}.{n}" for n in range(int(start), int(end) + 1)]
    return out


@cache
def functions(path: str) -> frozenset[str]:
    """Names of the tests in a file below tests/unit."""
    file = REPO / "tests" / "unit" / path
    if not file.exists():
        return frozenset()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))


@pytest.mark.parametrize("number", TESTS)
def test_named_tests_exist(number: str) -> None:
    assert TESTS[number]
    for node in TESTS[number]:
        path, _, name = node.partition("::")
        assert name in functions(path), node


def test_every_number_is_shown_or_said_to_be_missing() -> None:
    wanted = set(numbers(TABLE["must_show"]["numbers"]))
    assert wanted == set(TESTS) | set(MISSING)
    assert not set(TESTS) & set(MISSING)
    assert all(MISSING.values())
    assert set(TABLE["text"]) == wanted, "a number says nothing to whoever has not its text"
    assert all(len(text) > 10 for text in TABLE["text"].values())


def test_what_is_declared_done_has_a_test() -> None:
    done = numbers(TABLE["must_show"]["done"])
    assert not [n for n in done if n not in TESTS]
    assert set(done) == set(TESTS), "tests were added for numbers that are not declared done"


def test_the_table_holds_all_that_the_five_published_practices_ask() -> None:
    every = numbers(["S0.1-S0.50", "S1.1-S1.50", "S2.1-S2.28", "S3.1-S3.32", "S4.1-S4.23"])
    assert not [number for number in every if number not in TESTS]


def test_ranges_are_counted_out() -> None:
    assert numbers(["S0.7-S0.9", "S4.23"]) == ["S0.7", "S0.8", "S0.9", "S4.23"]


def test_the_product_gives_reasons_and_no_numbers_of_a_list() -> None:
    files = [path for path in (REPO / "rltui").rglob("*") if path.suffix in (".py", ".json", ".toml", ".md")]
    assert len(files) > 100
    assert [path.name for path in files if re.search(r"\bS[0-4]\.\d+\b", path.read_text(encoding="utf-8"))] == []
