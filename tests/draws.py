"""Which cases of a repeated test are run. The whole suite takes a few of each, others each time; `--whole` takes all.

A test of many cases is a table, and a commit seldom breaks one row of it alone. So the suite draws `FEW` of the cases
of each test, by the seed that also orders the tests: what fails is had again with that seed, and each case has its turn
within some runs. Of the tests that are marked `long`, as they take seconds, one in `OF_LONG` is drawn in the same way.
Whoever names a file, a test or `--whole` gets every case of it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

FEW = 1
"""Cases of a test that a run of the whole suite takes."""
OF_LONG = 3
"""A run of the whole suite takes one long test in so many."""


def some(draws: Sequence[int], few: int = 1) -> list[Any]:
    """Values for `parametrize`: draws of the noise in which a test is repeated. Take as many of them as show a fault of
    what is tested; the others, which find what is rare, are only run with `--whole`."""
    return [*draws[:few], *(pytest.param(one, marks=pytest.mark.whole) for one in draws[few:])]


def left_out(cases: Iterable[tuple[str, str]], seed: int, few: int = FEW) -> set[str]:
    """The names of the cases (test, name of the case) that are not among the `few` of their test. The same on each
    worker, whatever the order in which it has them."""
    tests: dict[str, list[str]] = defaultdict(list)
    for test, case in cases:
        tests[test].append(case)
    return {case for names in tests.values() for case in sorted(names, key=lambda name: _place(name, seed))[few:]}


def is_drawn(test: str, seed: int, of: int = OF_LONG) -> bool:
    """Whether a long test has its turn."""
    return int.from_bytes(_place(test, seed)) % of == 0


def _place(name: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed} {name}".encode()).digest()
