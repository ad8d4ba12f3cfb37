"""`rltui explain`: every rule and page prints, within 80 columns, and leads to things that exist."""

from __future__ import annotations

import json

import pytest

from rltui.cli import main
from rltui.frameworks.load import metrics
from rltui.report.explain import GROUPS, INPUTS, WIDTH, as_json, as_text, label_of, nearest, standing
from rltui.rules.catalogue import rules
from rltui.rules.knowledge import pages, pages_for


@pytest.mark.parametrize("word", [*rules(), *pages()])
def test_every_entry_reads_well_in_80_columns(word: str) -> None:
    text = as_text(word)
    assert text is not None
    assert text.startswith("# ")
    for line in text.splitlines():
        assert len(line) <= WIDTH or " " not in line.strip().removeprefix("- "), line
        assert line.rstrip() == line, line


def test_a_rule_tells_what_it_rests_on() -> None:
    text = as_text("kl-runaway") or ""
    for part in ("Looks at", "Formula", "Speaks when", "Thresholds", "Why these", "Does not run", "False alarms"):
        assert f"## {part}" in text
    for part in ("Likely causes", "Fixes", "Would confirm it", "Would refute it", "Related", "Pages", "Sources"):
        assert f"## {part}" in text
    assert "actor/kl_loss" in text
    assert "TRL: beta" in text
    assert "https://arxiv.org/abs/2210.10760" in text


def test_the_list_holds_every_rule_and_page_once() -> None:
    text = as_text(None) or ""
    firsts = [line.split()[0] for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    for word in [*rules(), *pages()]:
        assert firsts.count(word) == 1, word
    assert max(map(len, text.splitlines())) <= WIDTH


def test_every_metric_of_a_rule_has_a_label() -> None:
    for rule in rules().values():
        assert rule.group in GROUPS
        for metric in rule.metrics:
            assert metric in metrics() or metric in INPUTS or label_of(metric) != metric, (rule.id, metric)


def test_pages_and_rules_lead_to_each_other() -> None:
    for page in pages().values():
        assert page.when
        assert page.text
        for rule_id in page.rules:
            assert rule_id in rules(), (page.id, rule_id)
            assert page in pages_for(rule_id)
    assert not set(pages()) & set(rules())


def test_pages_name_only_what_exists() -> None:
    known = set(rules()) | set(pages())
    for page in pages().values():
        for word in page.text.replace("(", " ").replace(")", " ").replace(".", " ").split():
            if word.startswith(("see:", "pitfall-")):
                assert word in known, (page.id, word)


def test_json_is_strict_and_complete() -> None:
    listed = json.loads(as_json(None) or "")
    assert {r["id"] for r in listed["rules"]} == set(rules())
    assert {p["id"] for p in listed["pages"]} == set(pages())
    for rule_id in rules():
        data = json.loads(as_json(rule_id) or "")
        assert data["severity"] in ("info", "warning", "critical")
        assert (data["does_not_run"] is None) == (standing(rules()[rule_id]) is None)


def test_an_unknown_id_is_exit_code_2_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "kl-runawy"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Did you mean kl-runaway" in err
    assert nearest("entropy")[:2] == ["entropy-collapse", "entropy-explosion"]
    assert nearest("zzzz") == []


def test_the_command_prints_a_rule_a_page_and_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    for words, start in ((["kl-runaway"], "# KL"), (["bug-catalogue"], "# Bugs"), ([], "# Rules")):
        assert main(["explain", *words]) == 0
        assert capsys.readouterr().out.startswith(start)
    assert main(["explain", "kl-runaway", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "kl-runaway"


def test_every_metric_has_a_page_with_its_meaning_and_the_rules_that_look_at_it() -> None:
    for name, metric in metrics().items():
        text = as_text(name) or ""
        assert text.startswith(f"# {metric.label}\n"), name
        assert " ".join(metric.meaning.split()[:3]) in text, name
        assert all(len(line) <= WIDTH or " " not in line.strip("- ") for line in text.splitlines()), name
    drift = as_text("kl_ref") or ""
    assert "- kl-runaway: " in drift
    assert "- four-kls: " in drift
    assert json.loads(as_json("kl_ref") or "")["title"] == metrics()["kl_ref"].label


def test_a_phase_of_the_step_has_a_page() -> None:
    text = as_text("phase:rollout") or ""
    assert text.startswith("# generation, part of a step\n")
    assert "phase-bottleneck" in text
    assert as_text("phase:none") is None
