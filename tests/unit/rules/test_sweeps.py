"""Every rule of rows speaks from the doses on that were agreed (`sweeps`, `turning/`)."""

from __future__ import annotations

import pytest

from tests.unit.rules.sweeps import TURNING, lines_of, swept

AGREED = {
    part.splitlines()[0].removeprefix("# "): part.splitlines()[1:]
    for path in sorted(TURNING.glob("*.txt"))
    for part in path.read_text(encoding="utf-8").strip().split("\n\n")
}


def test_every_rule_of_rows_is_swept() -> None:
    assert set(AGREED) == set(swept())


@pytest.mark.parametrize("rule", AGREED)
def test_turning_points(rule: str) -> None:
    assert lines_of(rule, AGREED[rule]) == AGREED[rule]


@pytest.mark.whole
@pytest.mark.parametrize("rule", AGREED)
def test_every_dose(rule: str) -> None:
    assert lines_of(rule) == AGREED[rule]
