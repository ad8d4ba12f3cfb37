"""Each rule says of the runs around its thresholds what was agreed (`contexts`)."""

from __future__ import annotations

import pytest

from rltui.evidence.look import Look
from rltui.rules.base import REGISTERED
from tests.unit.rules.contexts import Says, kept

KEPT = kept()
DETECT = {one.rule: one.detect for one in REGISTERED if one.sees is Look}


@pytest.mark.parametrize("rule", KEPT)
def test_what_a_rule_says_around_its_thresholds(rule: str) -> None:
    found = [(context, Says(context).of(DETECT[rule])) for context, _ in KEPT[rule]]
    assert found == KEPT[rule]
