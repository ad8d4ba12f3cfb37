"""The catalogue is whole: every threshold with its reason, every relation to a rule that exists."""

from __future__ import annotations

import inspect
import json
import re

import msgspec
import pytest

from rltui.cli import main
from rltui.diagnosis.roots import Fired, Key, roots
from rltui.evidence.look import Look
from rltui.evidence.model import IMPACTS, RISKS
from rltui.frameworks.load import enable
from rltui.rules import host as on_machine
from rltui.rules import registry
from rltui.rules.catalogue import rules
from rltui.rules.coverage import _expected
from rltui.rules.registry import ids


def test_every_rule_is_there_once_and_complete() -> None:
    catalogue = rules()
    assert len({r.title for r in catalogue.values()}) == len(catalogue)
    for rule in catalogue.values():
        assert rule.title
        assert rule.why
        assert rule.formula
        assert rule.causes
        assert rule.refute
        assert 0 < rule.confidence <= 1
        assert rule.hold.looks >= 1
        related = {name for names in msgspec.structs.astuple(rule.relations) for name in names}
        assert related <= set(catalogue), rule.id
        assert all(p.why for p in rule.params.values()), rule.id
        assert all(s.url.startswith("http") or "rltui explain" in s.url for s in rule.sources), rule.id
        assert all(f.impact in IMPACTS and f.risk in RISKS for f in rule.fixes), rule.id


def test_detectors_belong_to_rules_and_use_their_thresholds() -> None:
    """A detector of rows reads every threshold of its page; none reads one that its page does not have."""
    for one in registry.REGISTERED:
        module = inspect.getmodule(one.detect)
        assert module is not None
        asked = {inspect.getmodule(told) for told in vars(module).values() if inspect.isfunction(told)}
        beside = [m for m in asked if m is not None and m.__name__.startswith("rltui.rules.")]
        source = "".join(map(inspect.getsource, (module, on_machine, *beside)))
        for name in rules()[one.rule].params if one.sees is Look else ():
            assert f'p["{name}"]' in source, f"{one.rule}: threshold {name} is read nowhere"
        for name in re.findall(r'\bp\["(\w+)"\]', inspect.getsource(one.detect)):
            assert name in rules()[one.rule].params, f"{one.rule}: its page has no threshold {name}"


@pytest.mark.parametrize("framework", ["verl", "trl", "openrlhf", "nemo_rl", "slime", None])
def test_every_expected_metric_can_be_enabled(framework: str | None) -> None:
    assert all(enable(e.metric, framework) for e in _expected())


def fired(rule_id: str, onset: int, level: int = 2) -> Fired:
    return Fired(rule_id, level, onset, 0.8)


def test_the_earliest_cause_is_the_root() -> None:
    found = roots(
        [fired("kl-runaway", 100, 3), fired("reward-collapse", 140, 3), fired("entropy-explosion", 120)], rules(), 400
    )
    assert found == {("reward-collapse", None): "kl-runaway", ("entropy-explosion", None): "kl-runaway"}


def test_an_effect_cannot_come_before_its_cause() -> None:
    assert roots([fired("truncation-high", 300), fired("entropy-explosion", 290)], rules(), 400)
    late = roots([fired("grad-norm-explosion", 350), fired("reward-collapse", 100)], rules(), 400)
    assert not late


def test_feedback_loops_end() -> None:
    loop = [fired("truncation-high", 100), fired("entropy-explosion", 101), fired("length-explosion", 102)]
    found = roots(loop, rules(), 400)
    assert len(set(found.values())) == 1
    assert {i for i, _ in found} | set(found.values()) == {f.id for f in loop}


def test_who_speaks_for_another_is_its_root_unless_it_began_after_it() -> None:
    spoken: dict[Key, str] = {("kl-up-reward-flat", None): "kl-runaway"}
    assert roots([fired("kl-up-reward-flat", 195), fired("kl-runaway", 200, 3)], rules(), 400) == spoken
    assert not roots([fired("kl-up-reward-flat", 50), fired("kl-runaway", 200, 3)], rules(), 400)


def test_a_root_is_loud_and_no_quieter_than_its_symptom() -> None:
    assert roots([fired("cfg-lr-too-high", 0), fired("kl-runaway", 100)], rules(), 400)
    assert not roots([fired("cfg-lr-too-high", 0, 1), fired("kl-runaway", 100, 1)], rules(), 400)
    assert not roots([fired("cfg-lr-too-high", 0, 2), fired("kl-runaway", 100, 3)], rules(), 400)


def test_every_page_has_a_detector_and_every_detector_a_page() -> None:
    assert set(ids()) == set(rules())


def test_the_graph_of_causes_is_told_from_both_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """`rltui explain` of a cause names its effect, and that of the effect its cause."""
    for one, rule in rules().items():
        assert one not in (*rule.relations.leads_to, *rule.relations.suppresses)
    for cause, effect in (("entropy-explosion", "truncation-high"), ("kl-runaway", "reward-collapse")):
        assert effect in rules()[cause].relations.leads_to
        assert main(["explain", effect, "--format", "json"]) == 0
        assert cause in json.loads(capsys.readouterr().out)["caused_by"]
