"""No rule is worse on the locked sample of the drill than it was, and one that is would be seen."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as with_other

from rltui.rules import registry
from rltui.rules.catalogue import rules
from tests.evaluation.drill.faults import FAULTS
from tests.evaluation.drill.lock import Locked, locked, seen, worse
from tests.evaluation.drill.measure import course, planted

ANEW = "If that is meant: python -m tests.evaluation drill --lock"
WAS = Locked(
    seed=1,
    look=5,
    found={"kl-runaway": 4, "reward-collapse": 30},
    false_alarms={"length-explosion": 1},
    false_resolves=1,
    false_stop=False,
    false_clear=False,
)


def test_every_fault_is_in_the_sample() -> None:
    assert list(locked()) == list(FAULTS), ANEW


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_rules_that_exist(fault: str) -> None:
    assert planted(fault, 1)[1].rules <= set(rules())


@pytest.mark.parametrize("fault", FAULTS)
def test_no_rule_is_worse_than_it_was(fault: str) -> None:
    was = locked()[fault]
    found = [f"{fault}: {what}" for what in worse(was, seen(course(fault, was.seed)))]
    assert not found, "\n".join([*found, ANEW])


@pytest.mark.parametrize(("fault", "seed"), [("dip and recovery", 900441), ("grader outage, over", 900160)])
def test_what_comes_back_is_no_reason_to_stop(fault: str, seed: int) -> None:
    assert not course(fault, seed).false_stop()


def test_advice_to_end_a_solved_run_stands() -> None:
    assert course("solved", 900184).flips() == 1


def test_nothing_learnt_is_not_taken_back_while_nothing_is_learnt() -> None:
    assert course("never learns", 900143).false_resolves() == 0


@pytest.mark.parametrize(("fault", "seed"), [("groups die", 900275), ("reward declines slowly", 900397)])
def test_a_loss_without_a_metric_of_its_own_takes_the_all_clear_away(fault: str, seed: int) -> None:
    found = course(fault, seed)
    assert found.found() is not None
    assert not found.false_clear()


def test_a_rule_that_has_become_blind_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    was = locked()["loss is NaN"]
    [detector] = [one for one in registry.REGISTERED if one.rule == "nonfinite-values"]
    blind = [with_other(one, detect=lambda *_: []) if one is detector else one for one in registry.REGISTERED]
    monkeypatch.setattr(registry, "REGISTERED", blind)
    said = list(worse(was, seen(course("loss is NaN", was.seed))))
    assert any("nonfinite-values no longer finds it" in line for line in said)


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ({}, []),
        ({"found": {"kl-runaway": 9, "reward-collapse": 60, "kl-up-reward-flat": 5}}, []),
        ({"found": {"kl-runaway": 4}}, ["reward-collapse no longer finds it (it did after 30 rows)"]),
        ({"found": {"kl-runaway": 10, "reward-collapse": 30}}, ["kl-runaway finds it after 10 rows (it did after 4)"]),
        ({"found": {"kl-runaway": 4, "reward-collapse": 61}}, ["reward-collapse finds it after 61 rows"]),
        ({"false_alarms": {}, "false_resolves": 0}, []),
        ({"false_alarms": {"length-explosion": 2}}, ["length-explosion has 2 false alarms (it had 1)"]),
        ({"false_alarms": {"val-regression": 1}}, ["val-regression has 1 false alarms (it had 0)"]),
        ({"false_resolves": 2}, ["end 2 times while it stands"]),
        ({"false_stop": True, "false_clear": True}, ["stop for nothing", "as if nothing were wrong"]),
    ],
)
def test_what_counts_as_worse(now: dict[str, object], said: list[str]) -> None:
    found = list(worse(WAS, replace(WAS, **now)))
    assert len(found) == len(said)
    assert all(part in line for part, line in zip(said, found, strict=True))
