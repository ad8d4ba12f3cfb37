"""Every stage that verify can be given: a right function passes, and each planted mistake is certain."""

from __future__ import annotations

from typing import Any

import pytest

from rltui.verify import verify
from rltui.verify.adapters import ESTIMATORS, BadAdapters, from_names
from rltui.verify.check import Check
from rltui.verify.estimators import KNOWN
from tests.unit.verify.stages import EXAMPLES, FAULTS, RIGHT, Changes, reward

PLANTED = [(stage, fault) for stage, (_, faults, _) in FAULTS.items() for fault in faults]


def told(changes: Changes) -> list[Check]:
    return [c for c in verify(from_names(dict(changes))) if c.mark not in ("", "skip")]


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_function_has_no_violation(name: str) -> None:
    assert [f"{c.mark} {c.name}: {c.value}" for c in told(RIGHT[name]) if c.mark == "!!"] == []


@pytest.mark.parametrize(("stage", "fault"), PLANTED)
def test_a_planted_mistake_is_certain(stage: str, fault: str) -> None:
    name, faults, beside = FAULTS[stage]
    found = told({name: faults[fault], **beside})
    assert [c for c in found if c.mark == "!!"], [f"{c.mark} {c.name}: {c.value}" for c in found]


def test_there_are_five_for_each_stage() -> None:
    assert all(len(faults) >= 5 for _, faults, _ in FAULTS.values())
    assert len(PLANTED) >= 60


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ({"reward": reward}, "reward needs EXAMPLES"),
        ({"reward": reward, "EXAMPLES": [("1", "2")]}, "EXAMPLES must be a list"),
        ({"advantage": len, "ADVANTAGE": "best"}, "must be one of group, centred"),
    ],
)
def test_what_the_file_must_say_is_one_line(names: dict[str, Any], says: str) -> None:
    with pytest.raises(BadAdapters, match=says):
        from_names(names)


def test_each_example_has_its_checks() -> None:
    checks = verify(from_names({"reward": reward, "EXAMPLES": [*EXAMPLES, ("7", "<answer>7</answer>", "seven")]}))
    assert {"right and wrong answer 1", "right and wrong answer 2"} <= {c.name for c in checks}


def test_the_estimators_that_a_file_may_declare_are_those_that_are_known() -> None:
    assert list(ESTIMATORS) == list(KNOWN)
