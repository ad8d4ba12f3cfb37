"""A run of the suite takes a few cases of each test; no test is left out, and each case has its turn."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest

from tests.conftest import REPO
from tests.draws import FEW, OF_LONG, is_drawn, left_out

REPEATED = "test_every_test_is_run_whatever_the_order_of_its_cases"
CASES = [(test, f"{test}[{case}]") for test, cases in (("a", 1), ("b", 7), ("c", FEW)) for case in range(cases)]


@pytest.mark.parametrize("seed", range(20))
def test_every_test_is_run_whatever_the_order_of_its_cases(seed: int) -> None:
    out = left_out(CASES, seed)
    for name in ("a", "b", "c"):
        own = [case for test, case in CASES if test == name]
        assert len(set(own) - out) == min(FEW, len(own))
    shuffled = [*CASES]
    Random(seed).shuffle(shuffled)
    assert left_out(shuffled, seed) == out


def test_each_case_has_its_turn() -> None:
    everywhere = set.intersection(*(left_out(CASES, seed) for seed in range(100)))
    assert not everywhere


def test_each_long_test_has_its_turn_as_often_as_the_others() -> None:
    turns = [sum(is_drawn(f"test_{k}", seed) for seed in range(300)) for k in range(20)]
    assert all(0.6 * 300 / OF_LONG < n < 1.4 * 300 / OF_LONG for n in turns)


@pytest.mark.parametrize(
    ("options", "of"),
    [([], FEW), (["--whole"], 20), ([__file__], 20), ([f"{__file__}::{REPEATED}"], 20)],
)
def test_who_names_a_file_gets_every_case_of_it(options: list[str], of: int) -> None:
    """The suite is asked for with a folder of tests instead of all: that of this file, which is quickly collected."""
    only = ["-o", "testpaths=tests/unit/house", "-o", "addopts="]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *only, *options]
    told = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True).stdout
    assert told.count(f"test_draws.py::{REPEATED}[") == of
