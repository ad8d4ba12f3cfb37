"""The report is told of each drawn run what was agreed on (`told`)."""

from __future__ import annotations

import pytest

from tests.unit.knowledge.told import kept

KEPT = kept()


@pytest.mark.parametrize("number", range(len(KEPT)))
def test_what_is_told_of_a_run(number: int) -> None:
    assert KEPT[number].wrong() == {}
