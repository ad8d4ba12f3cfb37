"""Each number of the requirements has its place on a screen that exists, and tests that look at it."""

from __future__ import annotations

import tomllib
from collections import Counter

import pytest

from rltui.tui import keys
from tests.conftest import REPO
from tests.unit.house.test_requirements import functions, numbers

PLACES = tomllib.loads((REPO / "tests" / "screens.toml").read_text(encoding="utf-8"))["place"]
ALL = ["S0.1-S0.50", "S1.1-S1.50", "S2.1-S2.28", "S3.1-S3.32", "S4.1-S4.23"]


@pytest.mark.parametrize("place", PLACES, ids=[place["numbers"][0] for place in PLACES])
def test_screens_and_tests_exist(place: dict[str, list[str]]) -> None:
    assert place["what"]
    assert set(place["screens"]) <= set(keys.ALL)
    assert place["tests"]
    for node in place["tests"]:
        path, _, name = node.partition("::")
        assert name in functions(path), node


def test_every_number_has_one_place() -> None:
    count = Counter(number for place in PLACES for number in numbers(place["numbers"]))
    assert set(count) == set(numbers(ALL))
    assert max(count.values()) == 1, [number for number, times in count.items() if times > 1]
