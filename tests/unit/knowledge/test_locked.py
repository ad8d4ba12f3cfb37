"""The facts are those that were agreed on. A change that is meant: `python -m tests.unit.knowledge`, and the reason in
the commit."""

from __future__ import annotations

import pytest

from tests.unit.knowledge.facts import FACTS, PARTS, all_facts


@pytest.mark.parametrize("part", PARTS)
def test_facts_are_those_agreed_on(part: str) -> None:
    agreed = (FACTS / f"{part}.txt").read_text(encoding="utf-8").splitlines()
    found = all_facts()[part]
    assert [line for line in found if line not in set(agreed)] == []
    assert [line for line in agreed if line not in set(found)] == []
    assert found == agreed, "the same facts in another order"
