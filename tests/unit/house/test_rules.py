"""A rule is one thing: its page, its detectors, what `rltui explain` says of it, and its cases, by the name of its
group."""

from __future__ import annotations

import pytest

from rltui.cli import main
from rltui.frameworks.load import metrics
from rltui.rules.catalogue import PAGES, read_page, rules
from rltui.rules.registry import REGISTERED, ids
from tests.unit.rules.cases import BY_GROUP, CASES

PAGE_IDS = {path.stem: {rule.id for rule in read_page(path)} for path in PAGES.glob("*.json")}


def test_page_detector_explanation_and_cases_are_of_the_same_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.strip()}
    paged = {rule for found in PAGE_IDS.values() for rule in found}
    assert paged == set(rules()) == set(ids()) == {case.rule for case in CASES} == listed & {*paged, *ids()}


@pytest.mark.parametrize("rule", rules())
def test_a_rule_is_explained(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", rule]) == 0
    assert rules()[rule].title in " ".join(capsys.readouterr().out.split())


def test_every_detector_has_a_fault_and_a_near_miss_of_what_it_looks_at() -> None:
    wanted = {(one.rule, one.sees) for one in REGISTERED}
    assert wanted - {(case.rule, case.fault.sees) for case in CASES} == set()
    assert wanted - {(case.rule, case.near.sees) for case in CASES} == set()


@pytest.mark.parametrize("group", sorted(PAGE_IDS | BY_GROUP))
def test_the_cases_of_a_group_stand_in_the_file_of_its_name(group: str) -> None:
    assert {case.rule for case in BY_GROUP[group]} == PAGE_IDS[group]


def test_a_metric_with_a_usual_range_is_looked_at_by_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    """A range that is shown is a promise that leaving it is seen."""
    idle = []
    for name in metrics():
        main(["explain", name])
        told = capsys.readouterr().out
        if "Usual range" in told and "Rules that look at it" not in told:
            idle.append(name)
    assert idle == []
