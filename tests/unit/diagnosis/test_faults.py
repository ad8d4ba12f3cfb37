"""Runs with one fault each, of a known cause: the cause leads what the report says, nothing that the run speaks against
is shown first, and its advice is short, new and said once. `MISSED` are those whose cause does not lead yet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.diagnosis.faults.fifth import FIFTH
from tests.unit.diagnosis.faults.fourth import FOURTH
from tests.unit.diagnosis.faults.policy import UPDATES
from tests.unit.diagnosis.faults.scores import DATA, REWARDS
from tests.unit.diagnosis.faults.second import SECOND
from tests.unit.diagnosis.faults.sixth import SIXTH
from tests.unit.diagnosis.faults.speed import ENDED, SLOW
from tests.unit.diagnosis.faults.third import THIRD
from tests.unit.diagnosis.faults.writing import Fault, write
from tests.unit.reported import told

FAULTS = {**SLOW, **ENDED, **UPDATES, **REWARDS, **DATA, **SECOND, **THIRD, **FOURTH, **FIFTH, **SIXTH}
MISSED: tuple[str, ...] = ()
ORDER = ("supported", "untestable", "contradicted")
SETTING = re.compile(r"(?P<key>[^\s,:]+): (?P<now>\S+) → (?P<to>\S+)")


def asked(fault: Fault, report: dict[str, Any]) -> dict[str, Any] | None:
    """The finding that the verdict rests on; of a mild fault the note that tells of it."""
    loud = [f for f in report["findings"] if f["status"] == "active" and f["severity"] != "info"]
    named = [f for rule in report["verdict"]["because"] for f in loud if f["id"] == rule]
    found: list[dict[str, Any]] = [*named, *loud, *(f for f in report["findings"] if f["id"] == fault.mild)]
    return found[0] if found else None


def bare(text: str) -> str:
    """Without what stands in brackets: numbers and settings."""
    while (less := re.sub(r"\([^()]*\)", "", text)) != text:
        text = less
    return text


def short_and_new(report: dict[str, Any], page: str) -> None:
    """What a reader could hold against its advice: a contradicted cause on the short page, more than three fixes of a
    finding, a change that the config has, one change twice, and words in the place of a setting."""
    causes = [cause for finding in report["findings"] for cause in finding["causes"]]
    speaks_for_others = {cause["because"] for cause in causes if cause["status"] != "contradicted"}
    for finding in report["findings"]:
        ranks = [ORDER.index(cause["status"]) for cause in finding["causes"]]
        assert ranks == sorted(ranks)
        assert len(finding["fixes"]) <= 3
        for cause in finding["causes"]:
            if cause["status"] == "contradicted":
                assert f"✓ {cause['text']}" not in page
                assert f"? {cause['text']}" not in page
                if not any(cause["because"] in other for other in speaks_for_others):
                    assert cause["because"] not in page, "why it is no cause stands in the long report"
    section = page.split("## 5.")[1].split("## 6.")[0]
    listed = [line.split(". ", 1)[1] for line in section.splitlines() if re.match(r"\d+\. ", line)]
    assert len(listed) == len(set(listed))
    keys = [found["key"] for line in listed for found in SETTING.finditer(line)]
    assert len(keys) == len(set(keys)), "two findings that want the same change say it once"
    for found in (found for line in listed for found in SETTING.finditer(line)):
        assert found["now"] != found["to"], "it is so already"


CASES = [
    pytest.param(
        fault, id=name, marks=[pytest.mark.xfail(strict=True, reason="its cause does not lead")] * (name in MISSED)
    )
    for name, fault in FAULTS.items()
]


@pytest.mark.parametrize("fault", CASES)
def test_the_cause_leads_and_advice_is_short_and_new(fault: Fault, tmp_path: Path) -> None:
    page, _, report = told(write(fault, tmp_path / "run"))
    short_and_new(report, page)
    finding = asked(fault, report)
    assert finding is not None, f"no finding: {fault.truth}"
    assert finding["causes"], f"no cause: {fault.truth}"
    lead = finding["causes"][0]
    assert lead["status"] != "contradicted"
    said = f"{lead['text']} ({lead['because']})"
    assert re.search(fault.named, said, re.IGNORECASE), f"{fault.truth}, but it says: {finding['title']}: {said}"
    assert not re.search(fault.untrue, bare(lead["text"]), re.IGNORECASE), f"{fault.truth}, but it says: {said}"


def test_nine_of_ten_causes_lead() -> None:
    assert len(FAULTS) >= 25
    assert len(MISSED) <= 0.1 * len(FAULTS)
    assert len({fault.framework for fault in FAULTS.values()}) >= 5
