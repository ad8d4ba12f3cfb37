"""Every rule: a case in which it speaks at its level, and a near miss in which it does not (`cases`).

Rules are asked by themselves here, look after look; how long a condition must hold is tested in test_life.
"""

from __future__ import annotations

import pytest

from rltui.evidence.look import Look
from rltui.rules.registry import ids
from tests.unit.rules.cases import CASES
from tests.unit.rules.given import NOTICE, Case, Rows, level


def name(case: Case) -> str:
    return f"{case.rule}-{case.fault.sees.__name__}-{case.level}"


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_rule_speaks_on_its_fault_and_not_on_a_near_miss(case: Case) -> None:
    assert level(case.rule, case.fault) == case.level
    assert level(case.rule, case.near) <= case.still < case.level


@pytest.mark.parametrize("rule", ids(Look))
def test_a_rule_is_not_loud_on_a_run_that_learns(rule: str) -> None:
    assert level(rule, Rows({})) <= NOTICE
